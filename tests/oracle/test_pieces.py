"""Lists and objects that are written down only where they differ from one that is known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.oracle.exact import NotJson
from bfcl.oracle.pieces import SIZE, Pieces, key_of, pieces_of, plain_key_of

SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0]) | st.text("aé1", max_size=2)
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner), max_leaves=12)
ROWS = st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3)
LISTS = st.lists(ROWS, max_size=4 * SIZE)
OBJECTS = st.dictionaries(st.text("abcdé", max_size=3), ROWS, max_size=4 * SIZE)
PAIRS = st.tuples(LISTS, LISTS) | st.tuples(OBJECTS, OBJECTS)


@st.composite
def edited(draw: st.DrawFn) -> tuple[Any, Any]:
    """A value, and the same with an entry more, less or other."""
    value = draw(LISTS.filter(bool) | OBJECTS.filter(bool))
    other = json.loads(json.dumps(value))
    row = draw(ROWS)
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        draw(st.sampled_from([other.pop, lambda at: other.insert(at, row), lambda at: other.__setitem__(at, row)]))(
            place
        )
    elif draw(st.booleans()):
        other[draw(st.text("abcdé", max_size=3))] = row
    else:
        del other[draw(st.sampled_from(sorted(value)))]
    return value, other


@given(one=VALUES, other=VALUES)
def test_equal_keys_mean_equal_text(one: Any, other: Any) -> None:
    for key in (key_of, plain_key_of):
        if key(one) == key(other):
            assert canonical_json(one) == canonical_json(other)
    assert plain_key_of(one) == plain_key_of(json.loads(json.dumps(one)))


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), (0.0, -0.0), ([1], (1,)), ("1", 1)])
def test_values_that_compare_equal_or_look_alike_have_keys_of_their_own(one: Any, other: Any) -> None:
    for key in (key_of, plain_key_of):
        assert key({"a": one}) != key({"a": other})


def test_only_the_quicker_key_depends_on_which_values_are_one_object() -> None:
    shared = ["x" * 30]
    one, other = [shared, shared], [["x" * 30], ["".join(["x"] * 30)]]
    assert plain_key_of(one) == plain_key_of(other)
    assert key_of(one) != key_of(other)
    assert key_of(one) == key_of([shared, shared])


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("value", [{1, 2}.__iter__(), object(), Text("a"), {"a": Text("b")}])
def test_what_is_more_than_plain_values_has_no_key(value: Any) -> None:
    for key in (key_of, plain_key_of):
        with pytest.raises(ValueError, match="unmarshallable object"):
            key(value)


@given(PAIRS | edited())
def test_another_value_is_written_and_rebuilt_as_it_is(pair: tuple[Any, Any]) -> None:
    known, other = pair
    written = Pieces(known).written(other)
    assert written.text == canonical_json(other)
    rebuilt = written.rebuilt(json.loads(canonical_json(known)))
    assert canonical_json(rebuilt) == written.text
    assert plain_key_of(rebuilt) == plain_key_of(json.loads(written.text))


def test_only_the_piece_that_differs_is_written_anew() -> None:
    rows = [{"id": number} for number in range(3 * SIZE)]
    other = [*rows[: SIZE + 1], {"id": -1}, *rows[SIZE + 2 :]]
    written = Pieces(rows).written(other)
    assert list(written.same) == [True, False, True]
    assert written.mostly_known
    assert not Pieces(rows).written(rows[1:]).mostly_known
    named = {f"{number:03}": number for number in range(3 * SIZE)}
    assert list(Pieces(named).written({**named, "0005": 1}).same) == [False, True, True]


@pytest.mark.parametrize(
    "copies", [lambda rows: [dict(row) for row in rows], lambda rows: json.loads(json.dumps(rows))]
)
def test_a_piece_is_known_whether_its_texts_are_the_same_objects_or_were_made_anew(copies: Any) -> None:
    rows = [{"id": f"row {number}", "of": "x" * 30} for number in range(3 * SIZE)]
    written = Pieces(rows).written(copies(rows))
    assert list(written.same) == [True] * 3


def test_rows_that_are_one_object_to_the_pack_are_rebuilt_as_two() -> None:
    row = {"id": 1}
    rows = [{"id": number} for number in range(SIZE)]
    written = Pieces([*rows, row, row]).written([*rows, row, row, row])
    rebuilt = written.rebuilt([*rows, {"id": 1}, {"id": 1}])
    assert len({id(one) for one in rebuilt}) == SIZE + 3


def test_a_row_that_is_not_json_is_refused() -> None:
    rows = [{"id": number} for number in range(SIZE + 1)]
    with pytest.raises(NotJson):
        Pieces(rows).written([*rows, {"id": (1,)}])


@pytest.mark.parametrize("value", [[0] * SIZE, {"a": 1}, "x" * 99, 7, None])
def test_small_values_and_scalars_have_no_pieces(value: Any) -> None:
    assert pieces_of(value) is None
    assert pieces_of([0] * (SIZE + 1)) is not None
