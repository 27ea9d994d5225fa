"""States told part by part: their text, and what an assertion is given of them."""

from __future__ import annotations

import collections
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.oracle import wire
from bfcl.oracle.copies import Leaves
from bfcl.oracle.exact import NotJson, exact_json
from bfcl.oracle.known_states import KnownStates
from bfcl.oracle.parts import WIDEST, Alone, Told, parts_of, record_of
from bfcl.oracle.pieces import SIZE
from bfcl.oracle.recall import Recall

ROWS = [{"id": number, "note": "é" * (number % 3)} for number in range(3 * SIZE)]
NAMED = {f"k{number:02}": {"n": number} for number in range(3 * SIZE)}
PARTS = st.sampled_from(
    [
        ROWS,
        ROWS[:-1],
        [*ROWS[:5], {"id": True}, *ROWS[5:]],
        [*ROWS[:1], {"id": 1.0, "note": "é"}, *ROWS[2:]],
        NAMED,
        {**NAMED, "k055": {"n": 0}},
        {**NAMED, "k01": {"n": -0.0}},
        1,
        1.0,
        True,
        "x",
        [],
        {},
    ]
)
STATES = st.dictionaries(st.sampled_from(["rows", "named", "é", "other"]), PARTS, max_size=4) | st.just(
    {f"n{number}": number for number in range(WIDEST + 1)}
)


def told(world: Recall, parent: KnownStates, state: Any) -> tuple[bytes, Told]:
    """A state as one episode tells it and the parent reads it; world and parent remember it."""
    parts = parts_of(state, world)
    assert parts is not None
    for part in parts:
        if part.known is None:
            part.write(state if part.name is None else state[part.name], world)
    record, size = record_of(parts)
    lessons = b"".join(wire.record(wire.NEW_PART, part.lesson) for part in parts if part.known is None)
    answer = wire.record(wire.STATE_PARTS, record)
    ((kind, text),) = parent.spelled(answer + world.take_in(record, lessons))
    assert (kind, size) == (wire.STATE, len(text))
    return text, Told(parts)


@settings(max_examples=60)
@given(st.lists(STATES, min_size=1, max_size=12))
def test_states_in_any_order_are_told_as_they_are_and_given_as_they_read_back(states: list[Any]) -> None:
    world, parent = Recall(Leaves()), KnownStates()
    for state in states:
        text, given_out = told(world, parent, state)
        assert text == canonical_json(state)
        for _ in range(3):
            taken = given_out.take()
            assert canonical_json(taken) == text
            assert list(taken) == sorted(taken)
            spoil(taken)


def spoil(taken: Any) -> None:
    """Change a state as far down as an assertion may."""
    for value in taken.values():
        if isinstance(value, list) and value:
            value[0] = value.pop()
            if isinstance(value[0], dict):
                value[0]["id"] = "spoilt"
        elif isinstance(value, dict):
            for inner in value.values():
                if isinstance(inner, dict):
                    inner["n"] = True
    taken["spoilt"] = 1


def test_a_state_that_comes_again_is_told_by_numbers_alone_and_given_ready() -> None:
    world, parent = Recall(Leaves()), KnownStates()
    state = {"rows": ROWS, "open": True}
    for _ in range(4):
        told(world, parent, state)
    parts = parts_of(state, world)
    assert parts is not None
    record, size = record_of(parts)
    assert record == wire.known_part(1) + wire.known_part(2)
    assert size == len(canonical_json(state))


def test_a_part_that_differs_in_one_row_is_not_remembered() -> None:
    world, parent = Recall(Leaves()), KnownStates()
    for _ in range(3):
        told(world, parent, {"rows": ROWS})
    for number in range(3):
        told(world, parent, {"rows": [*ROWS, {"id": number}]})
    (part,) = parts_of({"rows": [*ROWS, {"id": 0}]}, world) or ()
    assert part.known is None
    told(world, parent, {"rows": ROWS[1:]})
    (part,) = parts_of({"rows": ROWS[1:]}, world) or ()
    assert part.known is not None


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "state", [collections.OrderedDict(a=1), {"a": collections.Counter()}, {"a": [Text("x")]}, {Text("a"): 1}, [1], None]
)
def test_what_is_more_than_plain_values_has_no_parts(state: Any) -> None:
    assert parts_of(state, Recall(Leaves())) is None


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [198, 199, 200, 201])
@pytest.mark.parametrize("known", [False, True])
def test_parts_may_nest_as_deep_as_the_whole_state_may(levels: int, *, known: bool) -> None:
    world, parent = Recall(Leaves()), KnownStates()
    rows = [*ROWS, nested(levels - 2)]
    for _ in range(3 if known else 0):
        told(world, parent, {"rows": ROWS})
    (part,) = parts_of({"rows": rows}, world) or ()
    if levels <= 200:
        part.write(rows, world)
        assert part.text == exact_json(rows)
        return
    with pytest.raises(NotJson, match="nested deeper than 200 levels"):
        part.write(rows, world)
    with pytest.raises(NotJson, match="nested deeper than 200 levels"):
        exact_json({"rows": rows})


@pytest.mark.parametrize("rows", [{**NAMED, 7: 1}, {7: 1, **NAMED}, dict.fromkeys(range(2 * SIZE))])
def test_an_object_with_other_keys_than_texts_is_refused_after_one_that_is_known(rows: Any) -> None:
    world, parent = Recall(Leaves()), KnownStates()
    for _ in range(3):
        told(world, parent, {"rows": NAMED})
    (part,) = parts_of({"rows": rows}, world) or ()
    with pytest.raises(NotJson, match="has a key of type int, expected text keys"):
        part.write(rows, world)


def test_a_state_known_by_its_text_is_given_anew_each_time() -> None:
    alone = Alone({"a": [1]})
    first = alone.take()
    first["a"].append(2)
    assert alone.take() == json.loads('{"a":[1]}')
