"""Which stages did a task pass, and which one dropped it? Rule: generation.md §8, locating a lost task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bfcl.graph.journey import LATER, Journey
from bfcl.records.balance import BalancedTask
from bfcl.records.plan import Plan
from bfcl.records.quality import SurfaceQuality
from bfcl.records.surface import Surface
from bfcl.records.trace import Trace
from bfcl.records.verdict import ReplayVerdict, SchemaFailure, SchemaVerdict

FINAL: Final = "final_output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One stage's word on the task. `absent`: it has not said anything; `detail` says why."""

    stage: str
    outcome: Literal["passed", "dropped", "absent"]
    reason: str | None = None
    """Of a drop: its code."""
    detail: str | None = None


def passages(journey: Journey) -> list[Passage]:
    """One passage a stage, in pipeline order, `final_output` last; none of a stage that the task never reached.

    That is what stages 10 and 11 are to a task dropped earlier, and to every task of a run without them.
    """
    verdicts = {
        "state_machine": journey.plan and _planned(journey.plan),
        "render": journey.surface and _rendered(journey.surface),
        "expected_trace": journey.trace and _derived(journey.trace),
        "schema_validation": journey.schema and _validated(journey.schema),
        "executable_replay": journey.replay and _replayed(journey.replay),
    }
    bound = Passage(stage="expand", outcome="passed", detail=f"seed {journey.task.seed}")
    return [
        bound,
        *(verdicts[stage] or _absent(stage, journey) for stage in LATER),
        *([_kept(journey.quality)] if journey.quality is not None else []),
        *([_selected(journey.balance)] if journey.balance is not None else []),
        _published(journey),
    ]


def first_drop(path: list[Passage]) -> Passage | None:
    """The passage that ended the task's way; later drops only follow from it."""
    return next((passage for passage in path if passage.outcome == "dropped"), None)


def _absent(stage: str, journey: Journey) -> Passage:
    detail = "its table is of another build: no row" if stage in journey.tables else "not run yet: no table"
    return Passage(stage=stage, outcome="absent", detail=detail)


def _planned(plan: Plan) -> Passage:
    detail = f"{_count(plan.num_user_turns, 'user turn')}, {_count(plan.num_tool_calls, 'call')}"
    return Passage(stage="state_machine", outcome="passed", detail=detail)


def _rendered(surface: Surface) -> Passage:
    if surface.accepted:
        detail = f"language {surface.language}, worded by the {surface.source}"
        return Passage(stage="render", outcome="passed", detail=detail)
    broken = "; ".join(f"{each.guard}: {each.key} `{each.value}`" for each in surface.guard_violations)
    return Passage(stage="render", outcome="dropped", reason="surface_guard_violation", detail=broken)


def _derived(trace: Trace) -> Passage:
    if trace.derived:
        return Passage(stage="expected_trace", outcome="passed", detail=_count(len(trace.calls), "call"))
    return Passage(stage="expected_trace", outcome="dropped", reason=trace.drop_reason)


def _validated(verdict: SchemaVerdict) -> Passage:
    if verdict.valid:
        return Passage(stage="schema_validation", outcome="passed")
    detail = "; ".join(map(_failure, verdict.failures)) or None
    return Passage(stage="schema_validation", outcome="dropped", reason=verdict.reject_reason, detail=detail)


def _failure(failure: SchemaFailure) -> str:
    place = "" if failure.call_index is None else f"call {failure.call_index}{failure.pointer or ''}: "
    return f"{place}{failure.code}: {failure.message}"


def _replayed(verdict: ReplayVerdict) -> Passage:
    if verdict.valid:
        passed = sum(outcome.passed for outcome in verdict.assertions)
        return Passage(stage="executable_replay", outcome="passed", detail=f"{_count(passed, 'assertion')} passed")
    return Passage(stage="executable_replay", outcome="dropped", reason=verdict.reason, detail=verdict.detail)


def _kept(quality: SurfaceQuality) -> Passage:
    if quality.accepted:
        return Passage(stage="surface_quality", outcome="passed", detail="kept")
    return Passage(stage="surface_quality", outcome="dropped", reason=", ".join(quality.drop_reasons))


def _selected(balance: BalancedTask) -> Passage:
    stage = "dedup_balancing"
    if balance.selected:
        return Passage(stage=stage, outcome="passed", detail=f"selected, rank {balance.selection_rank}")
    detail = None
    if balance.balance_dimension is not None:
        detail = f"full: {balance.balance_dimension}"
    elif balance.representative_task_id != balance.task_id:
        detail = f"represented by {balance.representative_task_id}"
    return Passage(stage=stage, outcome="dropped", reason=balance.drop_reason, detail=detail)


def _published(journey: Journey) -> Passage:
    publication = journey.publication
    if publication is None:
        return Passage(stage=FINAL, outcome="absent", detail="nothing is published: no run_manifest.json")
    if publication.row is None:
        return Passage(stage=FINAL, outcome="dropped", reason="not_in_raw", detail="no row in benchmark_raw.parquet")
    if not publication.published:
        detail = "in benchmark_raw.parquet, not in benchmark.parquet"
        return Passage(stage=FINAL, outcome="dropped", reason="not_selected", detail=detail)
    row = publication.row
    eligible = "gold eligible" if row["gold_eligible"] else "not gold eligible"
    detail = f"published: tier {row['tier']}, {eligible}, validated by {', '.join(row['validated_by'])}"
    return Passage(stage=FINAL, outcome="passed", detail=detail)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
