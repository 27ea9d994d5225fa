"""Lists with other elements than they should have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.probing.elements import Whole, altered, resized
from bfcl.authoring.probing.places import value_at
from bfcl.authoring.probing.values import Values
from bfcl.canonical import canonical_text
from bfcl.pack.own_config import load_own
from bfcl.stages.bindings import sources_of
from tests.packs import write_pack


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    pack = load_own(write_pack(tmp_path_factory.mktemp("elements") / "pack")).pack
    sources = sources_of(pack)
    return Values(pack, lambda _: sources)


def told(value, values, within=""):
    return [(one.kind, one.what, one.look_at) for one in altered(Whole(value, "result", within), values)]


def test_rows_are_left_out_added_with_one_fact_changed_and_swapped(values):
    rows = [{"kiln_id": f"K-{number}", "zone": "north"} for number in (1, 2, 3)]
    whole = Whole({"kilns": rows}, "result", " of call 0 `list_kilns`")
    count = "how many elements `result.kilns` of call 0 `list_kilns` has (expected: 3)"
    assert [(one.kind, one.what, one.look_at, one.value["kilns"]) for one in altered(whole, values)] == [
        ("drop_element", "`result.kilns[0]` of call 0 `list_kilns` is left out", count, rows[1:]),
        ("drop_element", "`result.kilns[1]` of call 0 `list_kilns` is left out", count, [rows[0], rows[2]]),
        ("drop_element", "`result.kilns[2]` of call 0 `list_kilns` is left out", count, rows[:2]),
        (
            "add_element",
            '`result.kilns` of call 0 `list_kilns` has a further element {"kiln_id":"K-1","zone":"north"}',
            count,
            [*rows, {"kiln_id": "K-1", "zone": "north"}],
        ),
        (
            "reorder_list",
            "`result.kilns[1]` comes before `result.kilns[0]` of call 0 `list_kilns`",
            "the order of `result.kilns` of call 0 `list_kilns`, if it matters",
            [rows[1], rows[0], rows[2]],
        ),
    ]


@pytest.mark.parametrize(
    ("field", "element"),
    [
        ("recent_firings", '"F-11"'),
        ("kilns", '{"kiln_id":"K-1","recent_firings":["F-11"],"status":"idle...'),
        ("unheard_of", '"x"'),
    ],
)
def test_empty_list_gets_what_the_pack_holds_under_its_name(values, field, element):
    what = f"`result.{field}` has a further element {element}"
    assert told({field: []}, values) == [("add_element", what, f"that `result.{field}` is empty")]


def test_equal_elements_are_left_out_once_and_not_swapped(values):
    assert [kind for kind, _, _ in told(["a", "a"], values)] == ["drop_element", "add_element"]


def test_resized_leaves_the_order_alone(values):
    whole = Whole({"log": [1, 2]}, "state")
    assert [one.kind for one in resized(whole, ("log",), [1, 2], values)] == [
        "drop_element",
        "drop_element",
        "add_element",
    ]


ITEMS = st.lists(
    st.integers(0, 3) | st.text("ab", max_size=1) | st.dictionaries(st.just("n"), st.integers()), max_size=6
)


@given(items=ITEMS)
def test_every_altered_list_differs_and_by_what_its_kind_says(values, items):
    seen = {canonical_text({"it": items})}
    for one in altered(Whole({"it": items}, "result"), values):
        assert canonical_text(one.value) not in seen
        seen.add(canonical_text(one.value))
        found = value_at(one.value, ("it",))
        assert len(found) - len(items) == {"drop_element": -1, "add_element": 1, "reorder_list": 0}[one.kind]
