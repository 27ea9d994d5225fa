"""How do tasks stand on the page: of a candidate, a gate, a kind of task? Rule: evaluation.md §10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bfcl.evaluate.page.data import Labelled
from bfcl.evaluate.records import GATES, GateName, TaskScore
from bfcl.evaluate.score.breakdowns import clusters, grouped
from bfcl.evaluate.score.intervals import Bootstrap, cluster_bootstrap
from bfcl.evaluate.score.rates import Rate, rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Some tasks of a candidate: `all` of them, and its `own`, without those that it did not stop itself."""

    all: Rate
    own: Rate

    @property
    def stops(self) -> int:
        return self.all.tasks - self.own.tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A candidate's number."""

    label: str
    shares: Shares
    clustered: Bootstrap


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRate:
    """One gate over a candidate's tasks. `rate` is over the tasks it applies to."""

    gate: GateName
    rate: Rate
    candidate: int
    """Failures of the candidate's."""
    other: int
    """Failures for want of evidence or by infrastructure."""
    not_applicable: int


def shares(scores: Sequence[TaskScore]) -> Shares:
    own = [score for score in scores if not score.non_candidate_stop]
    return Shares(all=rate(scores), own=rate(own))


def headline(one: Labelled) -> Headline:
    """The interval is clustered by template, as the breakdowns have it: one seed, one number of resamples."""
    scores = one.entrant.scores
    return Headline(
        label=one.label,
        shares=shares(scores),
        clustered=cluster_bootstrap(clusters(scores, one.evaluation.kinds)),
    )


def gate_rates(scores: Sequence[TaskScore]) -> list[GateRate]:
    """Every gate that the scores have, in gate order."""
    outcomes: dict[GateName, list[str]] = {}
    for score in scores:
        for gate in score.gates:
            seen = gate.failure_class if gate.outcome == "failed" else gate.outcome
            outcomes.setdefault(gate.name, []).append(seen)
    return [_gate_rate(name, outcomes[name]) for name in GATES if name in outcomes]


def by_kind(one: Labelled, dimension: str) -> dict[str | None, Shares]:
    """A candidate's tasks by their value of a dimension."""
    groups = grouped(one.entrant.scores, one.evaluation.kinds, dimension)
    return {value: shares(group) for value, group in groups}


def _gate_rate(name: GateName, outcomes: Sequence[str]) -> GateRate:
    not_applicable = outcomes.count("not_applicable")
    passed, candidate = outcomes.count("passed"), outcomes.count("candidate")
    applies = len(outcomes) - not_applicable
    return GateRate(
        gate=name,
        rate=Rate(successes=passed, tasks=applies),
        candidate=candidate,
        other=applies - passed - candidate,
        not_applicable=not_applicable,
    )
