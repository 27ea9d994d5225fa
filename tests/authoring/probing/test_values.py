"""The other values that could have stood in a place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.probing.values import Values, neighbours
from bfcl.canonical import canonical_text
from bfcl.pack.own_config import load_own
from bfcl.stages.bindings import sources_of
from bfcl.stages.call_plan import Argument
from tests.packs import ROW_LINKS, drop, put, write_pack
from tests.stages.studio import studio


@pytest.fixture
def pottery(tmp_path):
    def build(*edits):
        pack = load_own(write_pack(tmp_path / "pack", *edits)).pack
        sources = sources_of(pack)
        return pack, Values(pack, lambda _: sources)

    return build


@pytest.mark.parametrize(
    ("value", "first"),
    [
        (None, "x"),
        (True, False),
        (6, 7),
        (1.5, 2.5),
        ("idle", "idlex"),
        ("", "x"),
        ("F-14", "F-13"),
        ("F-10", "F-11"),
        ("2026-03-31T09:00:00+07:00", "2025-03-31T09:00:00+07:00"),
    ],
)
def test_neighbours_begin_with_a_value_of_the_same_form(value, first):
    assert neighbours(value)[0] == first


@given(st.none() | st.booleans() | st.integers() | st.text())
def test_neighbours_differ_from_the_value(value):
    assert canonical_text(value) not in [canonical_text(one) for one in neighbours(value)]


def test_other_value_of_a_field_is_the_next_that_a_row_holds(pottery):
    _, values = pottery()
    assert values.other("status", "idle") == "busy"
    assert values.other("kiln_id", "K-3") == "K-1"
    assert values.other("outcome", None) == "good"
    assert values.other("status", "started") == "idle"
    assert values.other("unheard_of", "started") == "startedx"


def test_other_argument_keeps_to_the_schema(pottery):
    pack, values = pottery()
    start = pack.tool("start_firing")
    arguments = {"kiln_id": "K-1", "cone": 10, "atmosphere": "oxidation", "confirm": True}
    found = {name: values.other_argument(start, arguments, name) for name in arguments}
    assert found == {"kiln_id": "K-2", "cone": 9, "atmosphere": "reduction", "confirm": False}
    assert values.other_argument(start, arguments, "cone", [10, 11, 9]) == 9


def test_other_argument_breaks_the_schema_where_it_allows_one_value_only(pottery):
    pack, values = pottery(put("tools.json", (0, "function", "parameters", "properties", "kiln_id", "enum"), ["K-1"]))
    assert values.other_argument(pack.tool("get_kiln"), {"kiln_id": "K-1"}, "kiln_id") == "K-2"


def test_plausible_calls_are_successful_probes_then_a_variant_of_the_first(pottery):
    pack, values = pottery()
    assert values.plausible_calls(pack.tool("get_firing")) == [{"firing_id": "F-12"}, {"firing_id": "F-13"}]


def test_plausible_calls_are_made_up_from_the_schema_where_no_probe_succeeds(pottery):
    pack, values = pottery(drop("validation_cases.yaml", (8,)))
    assert values.plausible_calls(pack.tool("start_firing")) == [
        {"kiln_id": "K-1", "cone": 4, "confirm": True},
        {"kiln_id": "K-2", "cone": 4, "confirm": True},
    ]


def test_refusal_has_a_code_that_a_probe_of_the_tool_expects(pottery):
    _, values = pottery()
    assert values.refusal("start_firing") == {"error": {"code": "invalid_argument"}}
    assert values.refusal("unheard_of") == {"error": {"code": "not_found"}}


@pytest.mark.parametrize(
    ("slot", "corrections", "expected"),
    [
        ("firing_id.kiln_id", 0, ["K-3", "K-2"]),
        ("firing_id.kiln_id", 1, ["K-3", "K-3", "K-2"]),
        ("cone", 1, [4, 4, 5]),
        ("firing_id", 1, ["F-10", "F-10", "F-12"]),
        ("nobody", 1, []),
    ],
)
def test_argument_of_a_row_may_be_what_it_was_or_what_another_row_gives(pottery, slot, corrections, expected):
    drawn = studio(templates=ROW_LINKS)
    template, task = drawn.templates["firing_corrected"], drawn.tasks("firing_corrected")[0]
    _, values = pottery()
    argument = Argument(name="kiln_id", kind="slot", slot=slot)
    assert list(values.bindable(template, task, argument, corrections)) == expected
