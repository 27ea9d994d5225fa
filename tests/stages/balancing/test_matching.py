"""From texts that compare to rows that say them: equal texts always meet, each is compared once."""

from __future__ import annotations

from collections.abc import Sequence

from bfcl.digest import sha256_hex
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.finder import Match
from bfcl.stages.balancing.matching import matched
from bfcl.stages.balancing.nearest import Nearest

ROWS = {TaskId("d"): "one", TaskId("a"): "two", TaskId("c"): "two", TaskId("b"): "three"}


def test_each_text_is_compared_once_in_the_order_of_ids_with_seeds_by_digest() -> None:
    asked: list[tuple[Sequence[str], list[int]]] = []

    def compare(texts: Sequence[str], seeds: list[int]) -> Nearest:
        asked.append((texts, seeds))
        return Nearest([0, 0, 0], [None, 0, 0], [None, 0.5, 0.25])

    matched(ROWS, 2, compare)
    texts = ["two", "three", "one"]
    by_digest = sorted(range(3), key=lambda number: sha256_hex(texts[number].encode()))
    assert asked == [(texts, by_digest[:2])]


def test_row_that_repeats_a_text_follows_its_first_row() -> None:
    found = matched(ROWS, 1, lambda texts, seeds: Nearest([0, 1, 0], [None, None, 0], [None, None, 1.0]))
    assert found == {
        "a": Match(partition=0, predecessor_id=None, similarity=None),
        "b": Match(partition=1, predecessor_id=None, similarity=None),
        "c": Match(partition=0, predecessor_id=TaskId("a"), similarity=1.0),
        "d": Match(partition=0, predecessor_id=TaskId("a"), similarity=1.0),
    }


def test_repeated_text_stays_with_what_is_as_alike_and_earlier() -> None:
    rows = {TaskId(name): text for name, text in zip("abc", ("x", "y", "y"), strict=True)}
    found = matched(rows, 1, lambda texts, seeds: Nearest([0, 0], [None, 0], [None, 1.0]))
    assert found[TaskId("c")] == Match(partition=0, predecessor_id=TaskId("a"), similarity=1.0)
