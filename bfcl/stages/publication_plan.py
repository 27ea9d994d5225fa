"""Which rows does a release hold, in which order, once all stages have decided? Rule: generation.md §6.2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from bfcl.errors import Problem, StageError
from bfcl.records.ids import TaskId
from bfcl.tables.decisions import Decision

SurfaceGate: TypeAlias = Literal["deterministic_guards", "surface_quality"]

_SHOWN_REASONS: Final = 5


def surface_gate(*, judged: bool) -> SurfaceGate:
    """The gate that wording has to pass; `judged` where the run has the stage `surface_quality`."""
    return "surface_quality" if judged else "deterministic_guards"


class Gates(NamedTuple):
    """What the stages that may be bypassed let through; None for one that the run does not have."""

    kept: frozenset[TaskId] | None = None
    """Survivors of `surface_quality`."""
    ranked: tuple[TaskId, ...] | None = None
    """What `dedup_balancing` selected, by rank."""

    @property
    def surface_gate(self) -> SurfaceGate:
        """The one gate that judges wording. Rule: generation.md §6.2."""
        return surface_gate(judged=self.kept is not None)

    def passes(self, decision: Decision) -> bool:
        """Whether the surface gate lets a replay-valid task through."""
        return not decision.guards if self.kept is None else decision.task_id in self.kept

    def passed(self, decisions: Iterable[Decision]) -> tuple[TaskId, ...]:
        """The replay-valid tasks that the surface gate lets through, in task order."""
        return tuple(decision.task_id for decision in decisions if decision.replay_valid and self.passes(decision))

    def count(self, decisions: Iterable[Decision]) -> int:
        """How many rows would be published."""
        return len(self.passed(decisions) if self.ranked is None else self.ranked)


class PublicationPlan(NamedTuple):
    """Ids of both tables in row order. `published` names rows of `raw`, in their order or in that of the selection."""

    raw: tuple[TaskId, ...]
    published: tuple[TaskId, ...]


def publication_plan(decisions: Sequence[Decision], gates: Gates) -> PublicationPlan:
    """Raw is every replay-valid task in task order, published those that passed the surface gate and the selection.

    Raises: StageError `no_replay_validated_rows` or `no_published_rows`, with the counts and the largest reasons;
    ValueError where the selection holds what no gate let through, which is never a person's mistake.
    Rule: generation.md §6.2.
    """
    raw = tuple(decision.task_id for decision in decisions if decision.replay_valid)
    if not raw:
        reasons = Counter(decision.replay_reason or "unknown" for decision in decisions)
        raise StageError(
            Problem(
                code="no_replay_validated_rows",
                subject="replay_validated_tasks",
                message=f"0 of {len(decisions)} tasks passed the replay{_largest(reasons)}",
                fix="read stage_cache/replay_validated_tasks.parquet (reason, detail), "
                "then stage_cache/rendered_conversations.parquet",
            )
        )
    passed = gates.passed(decisions)
    published = passed if gates.ranked is None else gates.ranked
    if not set(published) <= set(passed) or len(set(published)) != len(published):
        raise ValueError("the selection holds tasks that did not pass the surface gate, or one twice")
    if not published:
        raise StageError(_nothing_published(decisions, gates, len(raw), len(passed)))
    return PublicationPlan(raw, published)


def _nothing_published(decisions: Sequence[Decision], gates: Gates, raw: int, passed: int) -> Problem:
    if passed:
        return Problem(
            code="no_published_rows",
            subject="balanced_tasks",
            message=f"0 of {passed} rows that passed the surface gate were selected",
            fix="read stage_cache/dedup_balancing_report.json and relax the bound it names",
        )
    if gates.kept is not None:
        return Problem(
            code="no_published_rows",
            subject="surface_validated_tasks",
            message=f"0 of {raw} replay-valid rows passed the surface gate {gates.surface_gate}",
            fix="read stage_cache/surface_quality_rejections.json and reword those templates",
        )
    guards = Counter(guard for decision in decisions if decision.replay_valid for guard in decision.guards)
    return Problem(
        code="no_published_rows",
        subject="rendered_conversations",
        message=f"0 of {raw} replay-valid rows passed the surface gate {gates.surface_gate}{_largest(guards)}",
        fix="read stage_cache/rendered_conversations.parquet (guard_violations) and reword those templates",
    )


def _largest(reasons: Counter[str]) -> str:
    if not reasons:
        return ""
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{reason} {count}" for reason, count in ranked[:_SHOWN_REASONS])
    rest = len(ranked) - _SHOWN_REASONS
    return f": {shown}" + (f" and {rest} more reasons" if rest > 0 else "")
