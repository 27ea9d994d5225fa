"""Where single facts of a JSON value stand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.probing.places import (
    ABSENT,
    changes,
    field_of,
    leaves,
    lists,
    sampled,
    shown_place,
    value_at,
    with_value,
)
from bfcl.canonical import canonical_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=1), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((), "state"),
        (("firings", "F-14", "cone"), 'state.firings["F-14"].cone'),
        (("rows", 0, "Đ"), 'state.rows[0]["Đ"]'),
    ],
)
def test_shown_place_reads_like_code(place, text):
    assert shown_place("state", place) == text


def test_leaves_are_the_scalars_and_of_a_long_list_its_ends_and_its_middle():
    value = {"b": [1, 2, 3, 4, 5], "a": {"x": None, "y": "t"}, "none": [], "nothing": {}}
    assert list(leaves(value)) == [(("a", "x"), None), (("a", "y"), "t"), (("b", 0), 1), (("b", 2), 3), (("b", 4), 5)]


@given(st.lists(st.integers(), max_size=6))
def test_sampled_are_the_ends_and_the_middle(items):
    found = sampled(items)
    assert found == sorted({0, len(items) // 2, len(items) - 1} if items else ())
    assert all(0 <= index < len(items) for index in found)


def test_lists_are_found_at_any_depth_outer_ones_first():
    value = {"b": [{"c": [1]}, [], [2]], "a": 3}
    assert list(lists(value)) == [
        (("b",), [{"c": [1]}, [], [2]]),
        (("b", 0, "c"), [1]),
        (("b", 1), []),
        (("b", 2), [2]),
    ]


def test_field_of_a_place_is_its_innermost_key():
    assert field_of(("a", 0, "b", 1)) == "b"
    assert field_of((0,)) == ""


@given(JSON)
def test_value_at_a_leaf_is_that_leaf_and_nothing_stands_beside_it(value):
    for place, leaf in leaves(value):
        assert value_at(value, place) == leaf
        assert value_at(value, (*place, "beside")) is ABSENT


def test_changes_tell_a_new_member_an_appended_element_and_a_changed_scalar():
    before = {"rows": {"K-1": {"status": "idle"}}, "log": [1], "next": 3}
    after = {"rows": {"K-1": {"status": "busy"}, "K-2": {}}, "log": [1, 2], "next": 4}
    assert list(changes(before, after)) == [
        (("log", 1), ABSENT, 2),
        (("next",), 3, 4),
        (("rows", "K-1", "status"), "idle", "busy"),
        (("rows", "K-2"), ABSENT, {}),
    ]


def test_changes_take_a_list_that_grew_at_its_front_as_one():
    assert list(changes({"log": [1, 2]}, {"log": [3, 1, 2]})) == [(("log",), [1, 2], [3, 1, 2])]


@given(JSON, JSON)
def test_undoing_every_change_from_the_last_gives_the_value_before(before, after):
    value = after
    for change in reversed(list(changes(before, after))):
        value = with_value(value, change.place, change.before)
    assert canonical_text(value) == canonical_text(before)


@given(JSON)
def test_replacing_a_leaf_changes_exactly_that_place_and_not_the_original(value):
    kept = json.dumps(value)
    for place, _ in leaves(value):
        found = list(changes(value, with_value(value, place, "other")))
        assert [change.place for change in found] == [place]
    assert json.dumps(value) == kept
