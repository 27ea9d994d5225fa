"""Of the page's candidates, which two can be compared, and does one of them do better? Rule: evaluation.md §16.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from bfcl.evaluate.after.compare import INCOMPATIBLE
from bfcl.evaluate.after.paired import (
    GroupTest,
    Pair,
    Tally,
    difference_interval,
    group_tests,
    mean_difference,
    tally,
)
from bfcl.evaluate.after.sides import incomparable, pairs_of
from bfcl.evaluate.page.data import Labelled
from bfcl.evaluate.score.intervals import Bootstrap, holm

PAIRS_SHOWN: Final = 10
"""Pairs of candidates, in the order of the candidates; `bfcl eval-compare` compares any two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two candidates on the same tasks."""

    first: str
    second: str
    tally: Tally
    difference: float
    """Rate of the first less that of the second."""
    interval: Bootstrap
    adjusted: float
    """The p value, adjusted by Holm over the comparisons of this page."""
    groups: tuple[GroupTest, ...]
    better_first: tuple[str, ...]
    """Tasks on which the first does better, in order."""
    better_second: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """What can be compared, what cannot and why, and how many pairs there was no room for."""

    made: tuple[Comparison, ...]
    refused: tuple[tuple[str, str, str], ...]
    """First, second, and in what they differ."""
    more: int


def comparisons(candidates: Sequence[Labelled], limit: int = PAIRS_SHOWN) -> Comparisons:
    """Compare every two of them, up to `limit` pairs."""
    pairs: list[tuple[str, str, list[Pair]]] = []
    refused: list[tuple[str, str, str]] = []
    for first, second in combinations(candidates, 2):
        differs = [problem.field or problem.message for problem in incomparable(first.side, second.side, INCOMPATIBLE)]
        paired = [] if differs else pairs_of(first.entrant.tries, second.entrant.tries, first.evaluation.kinds)
        if paired:
            pairs.append((first.label, second.label, paired))
        else:
            refused.append((first.label, second.label, ", ".join(differs) or "tasks with a trial that counts"))
    shown = pairs[:limit]
    adjusted = holm({(first, second): tally(paired).p_value for first, second, paired in shown})
    made = (_comparison((first, second), paired, adjusted[first, second]) for first, second, paired in shown)
    return Comparisons(made=tuple(made), refused=tuple(refused), more=len(pairs) - len(shown))


def _comparison(names: tuple[str, str], pairs: Sequence[Pair], adjusted: float) -> Comparison:
    return Comparison(
        first=names[0],
        second=names[1],
        tally=tally(pairs),
        difference=float(mean_difference(pairs)),
        interval=difference_interval(pairs),
        adjusted=adjusted,
        groups=group_tests(pairs),
        better_first=tuple(pair.task_id for pair in pairs if pair.difference > 0),
        better_second=tuple(pair.task_id for pair in pairs if pair.difference < 0),
    )
