"""States that are known again by their bytes, and only where those bytes can mean nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.oracle.exact import exact_pair
from bfcl.oracle.recall import KEPT, Recall, copied, fresh, key_of

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("aéß1")
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner), max_leaves=12)


@given(one=VALUES, other=VALUES)
def test_equal_keys_mean_equal_text(one: Any, other: Any) -> None:
    if key_of(one) == key_of(other):
        assert canonical_json(one) == canonical_json(other)
    assert key_of(one) == key_of(fresh(copied(one)))


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), (0.0, -0.0), ([1], (1,)), ("1", 1)])
def test_values_that_compare_equal_or_look_alike_have_keys_of_their_own(one: Any, other: Any) -> None:
    assert key_of({"a": one}) != key_of({"a": other})


def test_a_key_does_not_depend_on_which_values_are_one_object() -> None:
    shared = ["x" * 30]
    assert key_of([shared, shared]) == key_of([["x" * 30], ["".join(["x"] * 30)]])


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("value", [{1, 2}.__iter__(), object(), Text("a"), {"a": Text("b")}])
def test_what_is_more_than_plain_values_has_no_key(value: Any) -> None:
    assert key_of(value) is None
    assert Recall().find(None) is None


def test_a_state_is_found_as_it_was_learned() -> None:
    recall = Recall()
    state = {"rows": [{"id": 1}], "open": True}
    text, plain = exact_pair(state)
    key = key_of(state)
    assert key is not None
    assert recall.learn(key, text, copied(plain)) == (1, 0)
    known = recall.find(key_of({"rows": [{"id": 1}], "open": True}))
    assert known is not None
    assert known.text == canonical_json(state)
    assert fresh(known.copy) == state
    assert fresh(known.copy) is not fresh(known.copy)


def test_the_state_of_use_longest_ago_makes_room() -> None:
    recall = Recall()
    keys = [str(number).encode() for number in range(KEPT + 1)]
    for key in keys[:KEPT]:
        recall.learn(key, b"", b"N")
    first = recall.find(keys[0])
    assert first is not None
    recall.used(first.number)
    assert recall.learn(keys[KEPT], b"", b"N") == (KEPT + 1, 2)
    assert [key for key in keys if recall.find(key) is None] == [keys[1]]
