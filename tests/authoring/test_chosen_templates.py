"""Templates by id."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.chosen_templates import chosen_templates
from bfcl.errors import ConfigError
from bfcl.pack.own_config import load_own
from tests.packs import BASE, write_pack


def test_templates_come_in_pack_order_and_all_where_none_is_named(tmp_path: Path) -> None:
    templates = load_own(write_pack(tmp_path / "pack")).pack.templates
    assert [one.template_id for one in chosen_templates(templates, [])] == list(BASE)
    named = chosen_templates(templates, ["out_of_scope", "kiln_status"])
    assert [one.template_id for one in named] == ["kiln_status", "out_of_scope"]


def test_every_unknown_id_is_refused_with_the_closest_or_a_list(tmp_path: Path) -> None:
    templates = load_own(write_pack(tmp_path / "pack")).pack.templates
    with pytest.raises(ConfigError) as caught:
        chosen_templates(templates, ["kiln_statsu", "x"])
    assert str(caught.value) == (
        "unknown_template: kiln_statsu: the pack has no such template; it has 4\n  fix: did you mean `kiln_status`?\n"
        "unknown_template: x: the pack has no such template; it has 4\n"
        "  fix: use one of kiln_status, start_confirmed, kiln_and_firing, out_of_scope"
    )
