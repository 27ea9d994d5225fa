"""Where do two JSON values differ?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json, canonical_text
from bfcl.stages.divergence import Difference, differences, first_difference, shortened

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab c", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("left", "right", "path", "shown"),
    [
        (1, 2, "", ("1", "2")),
        (1, True, "", ("1", "true")),
        (1, 1.0, "", ("1", "1.0")),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1]", ("2", "3")),
        ({"a": 1}, {}, "a", ("1", "nothing")),
        ({}, {"x y": None}, '["x y"]', ("nothing", "null")),
        ([1], [1, {"k": 2}], "[1]", ("nothing", '{"k":2}')),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, "a", ("1", "2")),
        ([1], {"a": 1}, "", ("[1]", '{"a":1}')),
    ],
)
def test_first_difference_names_path_and_both_values(
    left: Json, right: Json, path: str, shown: tuple[str, str]
) -> None:
    assert first_difference(left, right) == Difference(path=path, left=shown[0], right=shown[1])


@given(JSON, JSON)
def test_first_difference_agrees_with_canonical_json(left: Json, right: Json) -> None:
    assert (first_difference(left, right) is None) is (canonical_text(left) == canonical_text(right))


@given(JSON)
def test_first_difference_finds_none_in_a_copy(value: Json) -> None:
    assert first_difference(value, value) is None


def test_shortened_keeps_sixty_characters() -> None:
    assert shortened("a" * 58) == '"' + "a" * 58 + '"'
    assert shortened("a" * 59) == '"' + "a" * 56 + "..."


def test_differences_lists_every_place_in_reading_order() -> None:
    left: Json = {"b": [1, 2, 3], "a": {"x": 1, "y": 2}, "same": True}
    right: Json = {"b": [1, 9], "a": {"x": 2, "z": 3}, "same": True}
    assert [(one.path, one.left, one.right) for one in differences(left, right)] == [
        ("a.x", "1", "2"),
        ("a.y", "2", "nothing"),
        ("a.z", "nothing", "3"),
        ("b[1]", "2", "9"),
        ("b[2]", "3", "nothing"),
    ]
