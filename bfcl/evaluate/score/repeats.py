"""How steady is a candidate when every task is played several times? Rule: evaluation.md §16.1.

A trial that the run stopped says nothing about the candidate and is not counted; it is to be driven again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bfcl.canonical import Json
from bfcl.evaluate.records import Count, GateName, TaskScore
from bfcl.evaluate.score.counts import metric_json
from bfcl.evaluate.score.intervals import chance_all
from bfcl.evaluate.score.taxonomy import NO_APPLICABLE_TASK


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAt:
    """Over the tasks with k counted trials or more: the mean chance that all of k succeed, and that any does."""

    k: int
    tasks: int
    every: Fraction | None
    """pass^k; None without a task."""
    some: Fraction | None
    """pass@k; None without a task."""

    def to_json(self) -> dict[str, Json]:
        every, some = (None if mean is None else float(mean) for mean in (self.every, self.some))
        return {"k": self.k, "tasks": self.tasks, "pass_hat_k": every, "pass_at_k": some}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """One candidate over all trials. `flips` counts, by gate and for `task_success`, tasks that went both ways."""

    trials: int
    """Trials asked of every task."""
    uncounted: int
    """Trials that the run stopped."""
    passes: tuple[PassAt, ...]
    """For k from 1 to `trials`."""
    flips: Mapping[str, Count]

    def to_json(self) -> dict[str, Json]:
        return {
            "trials": self.trials,
            "uncounted_trials": self.uncounted,
            "passes": [one.to_json() for one in self.passes],
            "flip_rates": {name: metric_json(one) for name, one in self.flips.items()},
        }


def repeated(scores: Iterable[TaskScore], *, trials: int) -> Repeated:
    """Read all scores of one candidate, each task up to `trials` times, in any order.

    Raises: ValueError where a trial of a task is scored twice or is none of those asked.
    """
    by_task: dict[str, dict[int, TaskScore]] = {}
    for score in scores:
        held = by_task.setdefault(score.task_id, {})
        if score.trial in held or not 0 <= score.trial < trials:
            raise ValueError(f"trial {score.trial} of {score.task_id} is scored twice or beyond {trials} trials")
        held[score.trial] = score
    counted = [
        [score for _, score in sorted(held.items()) if not score.non_candidate_stop] for held in by_task.values()
    ]
    return Repeated(
        trials=trials,
        uncounted=sum(map(len, by_task.values())) - sum(map(len, counted)),
        passes=tuple(_pass_at(counted, k) for k in range(1, trials + 1)),
        flips=_flips(counted),
    )


def _pass_at(tasks: Sequence[Sequence[TaskScore]], k: int) -> PassAt:
    tallies = [(sum(score.task_success for score in task), len(task)) for task in tasks if len(task) >= k]
    every = some = None
    if tallies:
        every = sum((chance_all(c, n, k) for c, n in tallies), Fraction()) / len(tallies)
        some = 1 - sum((chance_all(n - c, n, k) for c, n in tallies), Fraction()) / len(tallies)
    return PassAt(k=k, tasks=len(tallies), every=every, some=some)


def _flips(tasks: Sequence[Sequence[TaskScore]]) -> dict[str, Count]:
    """Tasks that went both ways over tasks judged at least twice. Where a gate does not apply it did not judge."""
    names: list[GateName] = list(dict.fromkeys(gate.name for task in tasks for score in task for gate in score.gates))
    judged: dict[str, list[list[bool]]] = {"task_success": [[score.task_success for score in task] for task in tasks]}
    for name in names:
        judged[name] = [
            [
                gate.outcome == "passed"
                for score in task
                for gate in score.gates
                if gate.name == name and gate.outcome != "not_applicable"
            ]
            for task in tasks
        ]
    return {name: _flipped(verdicts) for name, verdicts in judged.items()}


def _flipped(verdicts: Sequence[Sequence[bool]]) -> Count:
    repeated_ones = [one for one in verdicts if len(one) > 1]
    flipped = sum(len(set(one)) == 2 for one in repeated_ones)
    reason = None if repeated_ones else NO_APPLICABLE_TASK
    return Count(numerator=flipped, denominator=len(repeated_ones), reason=reason)
