"""Parts of states that a world knows again."""

from __future__ import annotations

from typing import Any

from bfcl.canonical import canonical_json
from bfcl.oracle import wire
from bfcl.oracle.copies import Leaves
from bfcl.oracle.pieces import SIZE, key_of
from bfcl.oracle.recall import KEPT, ROOM, Recall


def learn(recall: Recall, name: str, value: Any) -> int:
    return recall.learn(name, key_of(value), canonical_json(value))[0]


def test_a_part_is_found_under_its_name_as_it_was_learned() -> None:
    recall = Recall(Leaves())
    rows = [{"id": 1}]
    assert learn(recall, "rows", rows) == 1
    known = recall.find("rows", key_of([{"id": 1}]))
    assert known is not None
    assert (known.number, known.text) == (1, canonical_json(rows))
    assert known.take() == rows
    assert known.take() is not known.take()
    assert recall.find("other", known.key) is None
    assert recall.find("rows", key_of([{"id": True}])) is None


def test_a_part_that_comes_again_is_kept_ready_and_given_in_copies_that_share_what_nobody_can_change() -> None:
    leaves = Leaves(["note 5"])
    recall = Recall(leaves)
    rows = [{"id": number, "note": f"note {number}"} for number in range(SIZE + 1)]
    number = learn(recall, "rows", rows)
    assert recall.like("rows", list) is None
    recall.used(number)
    recall.used(number)
    known = recall.like("rows", list)
    assert known is not None
    assert recall.like("rows", dict) is None
    first = known.take()
    first[0]["id"] = False
    first.pop()
    assert known.take() == rows
    assert known.take()[5]["note"] is leaves.sharing("note 5")


def test_one_part_of_a_name_is_ready_and_gives_way_only_to_one_that_comes_much_oftener() -> None:
    recall = Recall(Leaves())
    one, other = learn(recall, "rows", [1] * 20), learn(recall, "rows", [2] * 20)
    for number in (one, one, other, other, other, other):
        recall.used(number)
    known = recall.like("rows", list)
    assert known is not None
    assert known.number == one
    recall.used(other)
    known = recall.like("rows", list)
    assert known is not None
    assert known.number == other


def test_parts_of_use_longest_ago_make_room() -> None:
    recall = Recall(Leaves())
    for number in range(1, KEPT + 1):
        assert recall.learn("a", b"%d" % number, b"1") == (number, [])
    recall.used(1)
    assert recall.learn("b", b"0", b"1") == (KEPT + 1, [2])
    assert recall.learn("b", b"1", b"x" * ROOM) == (KEPT + 2, [*range(3, KEPT + 1), 1, KEPT + 1, KEPT + 2])
    assert recall.find("b", b"0") is None


def test_what_an_episode_told_is_taken_in_with_the_keys_it_left() -> None:
    recall = Recall(Leaves())
    told = wire.new_part(b'"a"', b"1") + wire.new_part(b'"b"', b"2") + wire.new_part(b"", b"{}")
    assert recall.take_in(told, b"") == b""
    keys = b"".join(wire.record(wire.NEW_PART, key) for key in (b"A", b"", b"C"))
    assert recall.take_in(told, keys) == wire.record(wire.LEARNED, wire.numbers([1, 0, 2]))
    assert [recall.find(name, key) is not None for name, key in (("a", b"A"), ("b", b""), (None, b"C"))] == [
        True,
        False,
        True,
    ]
    assert recall.take_in(wire.known_part(1) + wire.known_part(2), b"") == b""
