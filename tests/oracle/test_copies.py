"""Copies of plain values: equal, nobody else's, and sharing what nobody can change."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.oracle.copies import Leaves, copied, copier, fresh

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, -0.0, 1.0, 2**80])
    | st.text("aé1", max_size=2)
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner), max_leaves=20)
ROWS = st.lists(st.dictionaries(st.sampled_from("abc"), LEAVES, max_size=3))


def holders(value: Any) -> Iterator[int]:
    """The identity of every list and object in a value."""
    if isinstance(value, (dict, list)):
        yield id(value)
        for inner in value.values() if isinstance(value, dict) else value:
            yield from holders(inner)


@given(VALUES | ROWS)
def test_a_copy_is_the_value_and_holds_no_list_or_object_of_it(value: Any) -> None:
    for copy in (copier(value)(value), fresh(copied(value)), Leaves(value).sharing(value)):
        assert canonical_json(copy) == canonical_json(value)
        assert not {*holders(copy)} & {*holders(value)}


@pytest.mark.parametrize(
    "value",
    ["x" * 30, {"a": "x" * 30}, ["x" * 30], [{"a": "x" * 30}, {}], [["x" * 30], []], {"a": [{"b": ["x" * 30]}]}],
)
def test_a_copy_has_the_leaves_of_the_value(value: Any) -> None:
    copy = copier(value)(value)
    while isinstance(value, (dict, list)):
        first = next(iter(value)) if isinstance(value, dict) else 0
        value, copy = value[first], copy[first]
    assert copy is value


@given(st.lists(VALUES))
def test_values_share_leaves_without_changing_one(values: list[Any]) -> None:
    leaves = Leaves(values)
    shared = [leaves.sharing(json.loads(json.dumps(value))) for value in values]
    assert canonical_json(shared) == canonical_json(values)


def test_shared_leaves_are_one_object_and_names_those_of_program_code() -> None:
    made = [json.loads('{"account": "number 1", "balance": 123456, "rate": 0.25}') for _ in range(2)]
    leaves = Leaves(made[0])
    one, other = (leaves.sharing(value) for value in made)
    for name in ("account", "balance", "rate"):
        assert one[name] is other[name] is made[0][name]
    assert next(iter(one)) is next(iter(other)) is sys.intern("account")


def test_what_a_value_shares_stays_shared_and_close_together_in_new_values() -> None:
    made = json.loads(json.dumps([{"bank": "Ngân hàng"}] * 2))
    rows = Leaves(made).sharing(made)
    one, other = fresh(copied(rows))
    assert one["bank"] is other["bank"]
    assert one["bank"] is not rows[0]["bank"]


def test_what_nests_deeper_than_the_stack_allows_is_left_as_it_is() -> None:
    text = "[" * 900 + '"x"' + "]" * 900
    deep = json.loads(text)
    assert json.dumps(Leaves(deep).sharing(deep)) == text
