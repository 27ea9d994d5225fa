from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.evaluate.settings.model import Mode, needs_oracle
from tests.evaluate.settings.builder import loaded


@pytest.mark.parametrize(
    ("modes", "oracle", "public"),
    [
        (("trace",), False, True),
        (("executable",), True, True),
        (("trace", "executable"), True, True),
        (("trace", "held_out_eval"), True, True),
        (("held_out_eval",), True, False),
    ],
)
def test_modes_say_what_is_run_against_the_oracle_and_whether_anything_is_public(
    tmp_path: Path, modes: tuple[Mode, ...], oracle: bool, public: bool
) -> None:
    settings = replace(loaded(tmp_path), modes=modes)
    assert (settings.needs_oracle, settings.public) == (oracle, public)
    assert needs_oracle(modes) == oracle
