"""States that a world names by number, spelled out again by its parent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bfcl.oracle import wire
from bfcl.oracle.known_states import KnownStates
from bfcl.oracle.recall import KEPT, Recall

RESULT = wire.record(wire.RESULT, b"{}")
READ = (wire.RESULT, b"{}")
GARBLED = ((wire.GARBLED, b""),)


def full(text: bytes) -> bytes:
    return wire.record(wire.STATE, text)


def named(number: int) -> bytes:
    return wire.record(wire.KNOWN_STATE, wire.numbers(number))


def learned(number: int, forgotten: int = 0) -> bytes:
    return wire.record(wire.LEARNED, wire.numbers(number, forgotten))


def test_a_named_state_is_spelled_as_it_was_told() -> None:
    known = KnownStates()
    assert known.spelled(RESULT + full(b"{1}")) == (READ, (wire.STATE, b"{1}"))
    told = known.spelled(full(b"{1}") + RESULT + full(b"{2}") + learned(1))
    assert told == ((wire.STATE, b"{1}"), READ, (wire.STATE, b"{2}"))
    assert known.spelled(RESULT + named(1)) == (READ, (wire.STATE, b"{2}"))


def test_a_forgotten_or_unheard_number_and_half_a_record_are_garbled() -> None:
    known = KnownStates()
    known.spelled(full(b"{1}") + learned(1))
    known.spelled(full(b"{2}") + learned(2, 1))
    for garbled in (named(1), named(7), named(2)[:-1], wire.record(wire.KNOWN_STATE, b"2"), RESULT + b"r"):
        assert known.spelled(garbled) == GARBLED
    assert known.spelled(named(2)) == ((wire.STATE, b"{2}"),)


def test_a_state_told_again_is_the_one_before_it_however_that_was_told() -> None:
    known = KnownStates()
    again = wire.record(wire.SAME_STATE, b"")
    one, two = (wire.STATE, b"{1}"), (wire.STATE, b"{2}")
    assert known.spelled(full(b"{1}") + again + RESULT + again + learned(1)) == (one, one, READ, one)
    assert known.spelled(full(b"{2}") + named(1) + again) == (two, one, one)
    assert known.spelled(again) == GARBLED


@given(st.lists(st.integers(0, KEPT + 3), max_size=60))
def test_parent_and_world_mean_the_same_by_every_number(states: list[int]) -> None:
    world, parent = Recall(), KnownStates()
    for state in states:
        text = b"{%d}" % state
        found = world.find(text)
        if found is None:
            answer = full(text) + learned(*world.learn(text, text, b"N"))
        else:
            world.used(found.number)
            answer = named(found.number)
        assert parent.spelled(answer) == ((wire.STATE, text),)
