"""Parts of states that a world names by number, spelled out again by its parent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bfcl.oracle import wire
from bfcl.oracle.copies import Leaves
from bfcl.oracle.known_states import KnownStates
from bfcl.oracle.pieces import key_of
from bfcl.oracle.recall import Recall

RESULT = wire.record(wire.RESULT, b"{}")
READ = (wire.RESULT, b"{}")
GARBLED = ((wire.GARBLED, b""),)
SAME = wire.record(wire.SAME_STATE, b"")


def state(*parts: bytes) -> bytes:
    return wire.record(wire.STATE_PARTS, b"".join(parts))


def new(name: str, text: bytes) -> bytes:
    return wire.new_part(f'"{name}"'.encode(), text)


def learned(*numbers: int) -> bytes:
    return wire.record(wire.LEARNED, wire.numbers(numbers))


def forgotten(*numbers: int) -> bytes:
    return wire.record(wire.FORGOTTEN, wire.numbers(numbers))


def text(data: bytes) -> tuple[bytes, bytes]:
    return wire.STATE, data


def test_named_parts_are_spelled_as_they_were_told() -> None:
    known = KnownStates()
    assert known.spelled(RESULT + wire.record(wire.STATE, b"{1}")) == (READ, text(b"{1}"))
    told = known.spelled(state(new("a", b"0")) + RESULT + state(new("a", b"1"), new("b", b"2")) + learned(1, 2))
    assert told == (text(b'{"a":0}'), READ, text(b'{"a":1,"b":2}'))
    assert known.spelled(state(wire.known_part(1), new("b", b"3")) + learned(3)) == (text(b'{"a":1,"b":3}'),)
    assert known.spelled(state(wire.known_part(1), wire.known_part(3))) == (text(b'{"a":1,"b":3}'),)
    assert known.spelled(state()) == (text(b"{}"),)
    assert known.spelled(state(wire.new_part(b"", b"{9}")) + learned(4)) == (text(b"{9}"),)
    assert known.spelled(state(wire.known_part(4))) == (text(b"{9}"),)


def test_states_of_the_same_parts_are_one_object() -> None:
    known = KnownStates()
    known.spelled(state(new("a", b"1")) + learned(1))
    (one,), (other,) = known.spelled(state(wire.known_part(1))), known.spelled(state(wire.known_part(1)))
    assert one[1] is other[1]


def test_a_forgotten_or_unheard_number_and_half_a_record_are_garbled() -> None:
    known = KnownStates()
    known.spelled(state(new("a", b"1"), new("b", b"2")) + learned(1, 0))
    known.spelled(state(new("a", b"2")) + learned(2) + forgotten(1))
    for garbled in (
        state(wire.known_part(1)),
        state(wire.known_part(7)),
        state(wire.record(wire.KNOWN_PART, b"2")),
        state(wire.record(wire.NEW_PART, b"2")),
        state(RESULT),
        state(wire.known_part(2))[:-1],
        state(new("a", b"3")) + learned(3, 4),
        forgotten(9),
        RESULT + b"r",
        SAME,
    ):
        assert known.spelled(garbled) == GARBLED
    assert known.spelled(state(wire.known_part(2))) == (text(b'{"a":2}'),)


def test_a_state_told_again_is_the_one_before_it_however_that_was_told() -> None:
    known = KnownStates()
    one, two = text(b'{"a":1}'), text(b"{2}")
    assert known.spelled(state(new("a", b"1")) + SAME + RESULT + SAME + learned(1)) == (one, one, READ, one)
    assert known.spelled(wire.record(wire.STATE, b"{2}") + SAME + state(wire.known_part(1)) + SAME) == (
        two,
        two,
        one,
        one,
    )


@given(st.lists(st.lists(st.integers(0, 70), max_size=3), max_size=80))
def test_parent_and_world_mean_the_same_by_every_number(states: list[list[int]]) -> None:
    world, parent = Recall(Leaves()), KnownStates()
    for parts in states:
        texts = {f"p{place}": b"%d" % part for place, part in enumerate(parts)}
        keyed = {name: key_of(int(data)) or b"" for name, data in texts.items()}
        found = {name: world.find(name, key) for name, key in keyed.items()}
        record = b"".join(
            new(name, texts[name]) if known is None else wire.known_part(known.number) for name, known in found.items()
        )
        keys = b"".join(wire.record(wire.NEW_PART, keyed[name]) for name, known in found.items() if known is None)
        answer = wire.record(wire.STATE_PARTS, record) + world.take_in(record, keys)
        whole = b",".join(b'"%s":%s' % (name.encode(), data) for name, data in texts.items())
        assert parent.spelled(answer) == (text(b"{%s}" % whole),)
