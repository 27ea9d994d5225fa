"""A template of the small pack as the oracle plays it, with what mutants are made of."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from bfcl.authoring.probing.mutant import Expected
from bfcl.authoring.probing.probe import played
from bfcl.authoring.probing.values import Values
from bfcl.authoring.workbench import workbench
from bfcl.checks.representatives import Setup, set_up
from tests.packs import BASE, write_pack


class Played(NamedTuple):
    expected: Expected
    values: Values
    setup: Setup


@pytest.fixture
def play(tmp_path):
    def run(template_id, *edits, templates=BASE):
        with workbench(write_pack(tmp_path / "pack", *edits, templates=templates)) as bench:
            setup = set_up(bench.pack, bench.config, "en")
            index = next(number for number, one in enumerate(bench.pack.templates) if one.template_id == template_id)
            expected, faults = played(setup, bench.oracle, [index])
        assert faults == {}
        return Played(expected[index], Values(bench.pack, setup.sources_for), setup)

    return run
