"""Of two candidates on the same tasks, does one do better, and where? Rule: evaluation.md §16.2.

A task counts once, however often it was played: what is paired are the shares of its trials that succeeded. With one
trial that is McNemar's test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from bfcl.canonical import Json
from bfcl.evaluate.score.breakdowns import DIMENSIONS, Kinds
from bfcl.evaluate.score.intervals import (
    RESAMPLES,
    SEED,
    Bootstrap,
    cluster_bootstrap,
    holm,
    mcnemar_exact,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """How one candidate fared on one task."""

    successes: int
    trials: int
    """At least 1."""

    @property
    def rate(self) -> Fraction:
        return Fraction(self.successes, self.trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One task of both."""

    task_id: str
    kinds: Kinds
    first: Tries
    second: Tries

    @property
    def difference(self) -> Fraction:
        """Rate of the first less that of the second."""
        return self.first.rate - self.second.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How the pairs fall out. `both` and `neither` count equal ones that always or never succeeded."""

    both: int
    only_first: int
    """Tasks on which the first does better."""
    only_second: int
    neither: int
    equal_otherwise: int
    """Tasks on which both succeeded in the same share of their trials, neither none nor all."""

    @property
    def p_value(self) -> float:
        """Exact, two-sided."""
        return mcnemar_exact(self.only_first, self.only_second)

    def to_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "neither": self.neither,
        }
        return {**told, "equal_otherwise": self.equal_otherwise} if self.equal_otherwise else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The pairs of one kind of task."""

    dimension: str
    value: str | None
    tasks: int
    tally: Tally
    difference: Fraction

    def to_json(self) -> dict[str, Json]:
        return {
            "dimension": self.dimension,
            "value": self.value,
            "tasks": self.tasks,
            "table": self.tally.to_json(),
            "difference": float(self.difference),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTest(Group):
    """A kind of task with a test of its own."""

    adjusted: float
    """The p value, adjusted by Holm over every group that is tested."""

    def to_json(self) -> dict[str, Json]:
        # A slotted dataclass has no `super()` without arguments.
        return {**Group.to_json(self), "p_value": self.tally.p_value, "p_value_holm": self.adjusted}


def tally(pairs: Iterable[Pair]) -> Tally:
    """Count the pairs."""
    both = only_first = only_second = neither = otherwise = 0
    for pair in pairs:
        if pair.difference > 0:
            only_first += 1
        elif pair.difference < 0:
            only_second += 1
        elif pair.first.rate == 1:
            both += 1
        elif pair.first.rate == 0:
            neither += 1
        else:
            otherwise += 1
    return Tally(both=both, only_first=only_first, only_second=only_second, neither=neither, equal_otherwise=otherwise)


def mean_difference(pairs: Sequence[Pair]) -> Fraction:
    """Mean over the tasks, of which there is at least one."""
    return sum((pair.difference for pair in pairs), Fraction()) / len(pairs)


def difference_interval(pairs: Sequence[Pair], *, seed: int = SEED, resamples: int = RESAMPLES) -> Bootstrap:
    """The interval of `mean_difference` when whole templates are drawn with replacement."""
    # The bootstrap counts in whole numbers: every task in the same parts.
    parts = lcm(*(pair.difference.denominator for pair in pairs))
    clusters: dict[str, tuple[int, int]] = {}
    for pair in pairs:
        above, below = clusters.get(pair.kinds.template_id, (0, 0))
        clusters[pair.kinds.template_id] = (above + int(pair.difference * parts), below + parts)
    return cluster_bootstrap([clusters[name] for name in sorted(clusters)], seed=seed, resamples=resamples)


def group_tests(pairs: Sequence[Pair]) -> tuple[GroupTest, ...]:
    """A test for every value of every dimension that parts the tasks, dimensions in report order, values sorted and
    none first.

    A family is as large as it has tests, and each one makes all others weaker. So templates, mostly of a task or two,
    have none, nor has a dimension of one value, whose test is that of all tasks: see `untested_groups`.
    """
    tested = {(one.dimension, one.value): one for groups in _grouped(pairs) if _is_tested(groups) for one in groups}
    adjusted = holm({key: one.tally.p_value for key, one in tested.items()})
    return tuple(
        GroupTest(
            dimension=one.dimension,
            value=one.value,
            tasks=one.tasks,
            tally=one.tally,
            difference=one.difference,
            adjusted=adjusted[key],
        )
        for key, one in tested.items()
    )


def untested_groups(pairs: Sequence[Pair]) -> tuple[Group, ...]:
    """Every other kind of task, in the same order."""
    return tuple(one for groups in _grouped(pairs) if not _is_tested(groups) for one in groups)


def _is_tested(groups: Sequence[Group]) -> bool:
    """Whether the groups of one dimension are."""
    return len(groups) > 1 and groups[0].dimension != "template_id"


def _grouped(pairs: Sequence[Pair]) -> Iterator[list[Group]]:
    """The groups of each dimension."""
    for dimension in DIMENSIONS:
        by_value: dict[str | None, list[Pair]] = {}
        for pair in pairs:
            by_value.setdefault(getattr(pair.kinds, dimension), []).append(pair)
        yield [
            Group(
                dimension=dimension,
                value=value,
                tasks=len(by_value[value]),
                tally=tally(by_value[value]),
                difference=mean_difference(by_value[value]),
            )
            for value in sorted(by_value, key=lambda value: (value is not None, value or ""))
        ]


def flips(pairs: Iterable[Pair]) -> dict[str, Json]:
    """The tasks on which one of the two does better, in their order."""
    told: Mapping[str, list[Json]] = {"only_first": [], "only_second": []}
    for pair in pairs:
        if pair.difference:
            entry: dict[str, Json] = {"task_id": pair.task_id, "template_id": pair.kinds.template_id}
            if max(pair.first.trials, pair.second.trials) > 1:
                entry["first"] = {"successes": pair.first.successes, "trials": pair.first.trials}
                entry["second"] = {"successes": pair.second.successes, "trials": pair.second.trials}
            told["only_first" if pair.difference > 0 else "only_second"].append(entry)
    return dict(told)
