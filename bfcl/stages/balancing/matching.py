"""What does comparing distinct texts say of the rows that say them? Shared by finders. Rule: generation.md §3.8."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bfcl.digest import sha256_hex
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.finder import Match
from bfcl.stages.balancing.nearest import Nearest


def matched(
    texts: Mapping[TaskId, str], partitions: int, compare: Callable[[Sequence[str], list[int]], Nearest]
) -> dict[TaskId, Match]:
    """Every row's match, by id, given how distinct texts compare.

    `compare` gets each text once, in the order in which rows by their ids first say it, and the numbers of the texts
    that partitions are first drawn around.
    """
    ids = sorted(texts)
    # An earlier text's first row comes before a later text's.
    first: dict[str, TaskId] = {}
    for task_id in ids:
        first.setdefault(texts[task_id], task_id)
    distinct = list(first)
    numbers = {text: number for number, text in enumerate(distinct)}
    found = compare(distinct, _seeds(distinct, partitions))
    matches: dict[TaskId, Match] = {}
    for task_id in ids:
        text = texts[task_id]
        number = numbers[text]
        place, similarity = found.predecessors[number], found.similarities[number]
        predecessor = None if place is None else first[distinct[place]]
        if first[text] != task_id and similarity != 1.0:
            # Said before in the same words: nothing is more alike, and only what is as alike may come first.
            predecessor, similarity = first[text], 1.0
        matches[task_id] = Match(partition=found.partitions[number], predecessor_id=predecessor, similarity=similarity)
    return matches


def _seeds(texts: Sequence[str], partitions: int) -> list[int]:
    """Numbers of the texts that partitions are first drawn around: by digest, so no order of rows decides."""
    return sorted(range(len(texts)), key=lambda number: sha256_hex(texts[number].encode()))[:partitions]
