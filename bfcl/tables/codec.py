"""How does a record become a row, and a row a record? Rule: generation.md §3.

A row is a dict with exactly the columns of its table; list columns hold tuples on the way out and lists on the way
in, `j` columns hold canonical JSON text. Canonical JSON sorts keys, so mappings come back in key order: whoever needs
another order (arguments as derived) takes it from the template.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from bfcl.canonical import canonical_json, canonical_text, from_canonical
from bfcl.records.balance import BalancedTask
from bfcl.records.plan import Plan
from bfcl.records.quality import SurfaceCheck, SurfaceQuality
from bfcl.records.surface import VIOLATION_KEYS, Surface, Turn, Violation
from bfcl.records.task import SlotDelivery, Task
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import AssertionOutcome, ReplayVerdict, SchemaFailure, SchemaVerdict, ToolResult

Row: TypeAlias = dict[str, Any]
"""Column name to JSON value: text, int, bool, float, list of text or None."""

Record = TypeVar("Record")


def encode_line(row: Row) -> bytes:
    """The row as one canonical JSON line, without newline."""
    return canonical_json(row)


def decode_line(line: bytes) -> Row:
    """The row a line holds."""
    row: Row = from_canonical(line.decode())
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec(Generic[Record]):
    """One table's two directions."""

    artifact: str
    to_row: Callable[[Record], Row]
    from_row: Callable[[Row], Record]

    def encode(self, record: Record) -> bytes:
        """The record as one canonical JSON line."""
        return canonical_json(self.to_row(record))

    def decode(self, line: bytes) -> Record:
        """The record a line holds."""
        return self.from_row(from_canonical(line.decode()))


def task_row(task: Task) -> Row:
    """A row of `task_instances`."""
    slots = canonical_text(task.slots)
    updates = task.slot_updates
    return {
        "task_id": task.task_id,
        "base_task_id": task.base_task_id,
        "template_id": task.template_id,
        "pack_id": task.pack_id,
        "pack_version": task.pack_version,
        "intent": task.intent,
        "category": task.category,
        "difficulty": task.difficulty,
        "turn_policy": task.turn_policy,
        "call_order": task.call_order,
        "call_order_prefix": task.call_order_prefix,
        "variant_index": task.variant_index,
        "seed": task.seed,
        "mutates": task.mutates,
        "required_tools": task.required_tools,
        "tools_present": task.tools_present,
        "success_assertions": task.success_assertions,
        "edge_signatures": task.edge_signatures,
        "fixture_refs": task.fixture_refs,
        "slots": slots,
        "slots_initial": slots if task.slots_initial is task.slots else canonical_text(task.slots_initial),
        "slot_updates": canonical_text([update.to_json() for update in updates]) if updates else "[]",
    }


def task_from_row(row: Row) -> Task:
    """Inverse of `task_row`."""
    slots = from_canonical(row["slots"])
    same = row["slots_initial"] == row["slots"]
    updates = row["slot_updates"]
    return Task(
        task_id=row["task_id"],
        base_task_id=row["base_task_id"],
        template_id=row["template_id"],
        pack_id=row["pack_id"],
        pack_version=row["pack_version"],
        intent=row["intent"],
        category=row["category"],
        difficulty=row["difficulty"],
        turn_policy=row["turn_policy"],
        call_order=row["call_order"],
        call_order_prefix=row["call_order_prefix"],
        variant_index=row["variant_index"],
        seed=row["seed"],
        mutates=row["mutates"],
        required_tools=tuple(row["required_tools"]),
        tools_present=tuple(row["tools_present"]),
        success_assertions=tuple(row["success_assertions"]),
        edge_signatures=tuple(row["edge_signatures"]),
        fixture_refs=tuple(row["fixture_refs"]),
        slots=slots,
        slots_initial=slots if same else from_canonical(row["slots_initial"]),
        slot_updates=() if updates == "[]" else tuple(SlotDelivery(**update) for update in from_canonical(updates)),
    )


def plan_row(plan: Plan) -> Row:
    """A row of `conversation_plans`."""
    return {
        "task_id": plan.task_id,
        "template_id": plan.template_id,
        "turn_policy": plan.turn_policy,
        "num_user_turns": plan.num_user_turns,
        "num_tool_calls": plan.num_tool_calls,
        "is_multi_turn": plan.is_multi_turn,
        "has_user_confirmation": plan.has_user_confirmation,
        "has_slot_correction": plan.has_slot_correction,
        "steps": canonical_text(plan.steps),
    }


def plan_from_row(row: Row) -> Plan:
    """Inverse of `plan_row`."""
    return Plan(
        task_id=row["task_id"],
        template_id=row["template_id"],
        turn_policy=row["turn_policy"],
        num_user_turns=row["num_user_turns"],
        num_tool_calls=row["num_tool_calls"],
        is_multi_turn=row["is_multi_turn"],
        has_user_confirmation=row["has_user_confirmation"],
        has_slot_correction=row["has_slot_correction"],
        steps=tuple(
            {**step, "tools": tuple(step["tools"])} if "tools" in step else step
            for step in from_canonical(row["steps"])
        ),
    )


def surface_row(surface: Surface) -> Row:
    """A row of `rendered_conversations`."""
    violations = surface.guard_violations
    return {
        "task_id": surface.task_id,
        "base_task_id": surface.base_task_id,
        "variant_index": surface.variant_index,
        "source": surface.source,
        "language": surface.language,
        "system_prompt_id": surface.system_prompt_id,
        "paraphrase_model": surface.paraphrase_model,
        "paraphrase_model_canonical": surface.paraphrase_model_canonical,
        "profile_hash": surface.profile_hash,
        "num_user_turns": surface.num_user_turns,
        "accepted": surface.accepted,
        "guard_violations": canonical_text([each.to_json() for each in violations]) if violations else "[]",
        "turns": canonical_text([turn.to_json() for turn in surface.turns]),
    }


def surface_from_row(row: Row) -> Surface:
    """Inverse of `surface_row`."""
    violations = row["guard_violations"]
    return Surface(
        task_id=row["task_id"],
        base_task_id=row["base_task_id"],
        variant_index=row["variant_index"],
        source=row["source"],
        language=row["language"],
        system_prompt_id=row["system_prompt_id"],
        paraphrase_model=row["paraphrase_model"],
        paraphrase_model_canonical=row["paraphrase_model_canonical"],
        profile_hash=row["profile_hash"],
        num_user_turns=row["num_user_turns"],
        accepted=row["accepted"],
        guard_violations=() if violations == "[]" else tuple(_violation(each) for each in from_canonical(violations)),
        turns=tuple(Turn(**turn) for turn in from_canonical(row["turns"])),
    )


def _violation(value: Row) -> Violation:
    for key in VIOLATION_KEYS:
        if key in value:
            return Violation(guard=value["guard"], key=key, value=value[key])
    raise KeyError(", ".join(VIOLATION_KEYS))


def trace_row(trace: Trace) -> Row:
    """A row of `expected_traces`."""
    calls = trace.calls
    return {
        "task_id": trace.task_id,
        "template_id": trace.template_id,
        "turn_policy": trace.turn_policy,
        "derived": trace.derived,
        "drop_reason": trace.drop_reason,
        "num_tool_calls": len(calls),
        "expected_tool_calls": canonical_text([call.to_json() for call in calls]) if calls else "[]",
    }


def trace_from_row(row: Row) -> Trace:
    """Inverse of `trace_row`, arguments in key order."""
    return Trace(
        task_id=row["task_id"],
        template_id=row["template_id"],
        turn_policy=row["turn_policy"],
        derived=row["derived"],
        drop_reason=row["drop_reason"],
        calls=tuple(Call(**call) for call in from_canonical(row["expected_tool_calls"])),
    )


def schema_row(verdict: SchemaVerdict) -> Row:
    """A row of `schema_validated_traces`."""
    failures = verdict.failures
    return {
        "task_id": verdict.task_id,
        "template_id": verdict.template_id,
        "valid": verdict.valid,
        "reject_reason": verdict.reject_reason,
        "failure_count": len(failures),
        "failures": canonical_text([failure.to_json() for failure in failures]) if failures else "[]",
    }


def schema_from_row(row: Row) -> SchemaVerdict:
    """Inverse of `schema_row`."""
    failures = row["failures"]
    return SchemaVerdict(
        task_id=row["task_id"],
        template_id=row["template_id"],
        valid=row["valid"],
        reject_reason=row["reject_reason"],
        failures=() if failures == "[]" else tuple(SchemaFailure(**failure) for failure in from_canonical(failures)),
    )


def replay_row(verdict: ReplayVerdict) -> Row:
    """A row of `replay_validated_tasks`."""
    return {
        "task_id": verdict.task_id,
        "template_id": verdict.template_id,
        "valid": verdict.valid,
        "reason": verdict.reason,
        "detail": verdict.detail,
        "num_tool_results": len(verdict.tool_results),
        "tool_results": canonical_text([result.to_json() for result in verdict.tool_results]),
        "assertions": canonical_text([outcome.to_json() for outcome in verdict.assertions]),
    }


def replay_from_row(row: Row) -> ReplayVerdict:
    """Inverse of `replay_row`, arguments and results in key order."""
    return ReplayVerdict(
        task_id=row["task_id"],
        template_id=row["template_id"],
        valid=row["valid"],
        reason=row["reason"],
        detail=row["detail"],
        tool_results=tuple(ToolResult(**result) for result in from_canonical(row["tool_results"])),
        assertions=tuple(
            AssertionOutcome(name=each["name"], status=each["status"], detail=each["detail"])
            for each in from_canonical(row["assertions"])
        ),
    )


def quality_row(quality: SurfaceQuality) -> Row:
    """A row of `surface_validated_tasks`."""
    return {
        "task_id": quality.task_id,
        "base_task_id": quality.base_task_id,
        "template_id": quality.template_id,
        "variant_index": quality.variant_index,
        "surface_source": quality.surface_source,
        "turn_policy": quality.turn_policy,
        "contract_version": quality.contract_version,
        "accepted": quality.accepted,
        "decision": quality.decision,
        "drop_source": quality.drop_source,
        "drop_reasons": quality.drop_reasons,
        "advisory_failures": quality.advisory_failures,
        "judge_error": quality.judge_error,
        **{f"{check.check}_status": check.status for check in quality.checks},
        "checks": canonical_text([check.to_json() for check in quality.checks]),
    }


def quality_from_row(row: Row) -> SurfaceQuality:
    """Inverse of `quality_row`."""
    return SurfaceQuality(
        task_id=row["task_id"],
        base_task_id=row["base_task_id"],
        template_id=row["template_id"],
        variant_index=row["variant_index"],
        surface_source=row["surface_source"],
        turn_policy=row["turn_policy"],
        contract_version=row["contract_version"],
        drop_source=row["drop_source"],
        drop_reasons=tuple(row["drop_reasons"]),
        advisory_failures=tuple(row["advisory_failures"]),
        judge_error=row["judge_error"],
        checks=tuple(SurfaceCheck(**check) for check in from_canonical(row["checks"])),
    )


def balanced_row(task: BalancedTask) -> Row:
    """A row of `balanced_tasks`."""
    return {
        "task_id": task.task_id,
        "contract_version": task.contract_version,
        "selected": task.selected,
        "is_duplicate": task.is_duplicate,
        "duplicate_cluster_id": task.duplicate_cluster_id,
        "representative_task_id": task.representative_task_id,
        "drop_reason": task.drop_reason,
        "balance_dimension": task.balance_dimension,
        "selection_rank": task.selection_rank,
        "curator_cluster_id": task.curator_cluster_id,
        "curator_is_duplicate": task.curator_is_duplicate,
        "curator_predecessor_id": task.curator_predecessor_id,
        "curator_similarity_score": task.curator_similarity_score,
        "text_hash": task.text_hash,
        "capability_signature": task.capability_signature,
        "language": task.language,
        "edge_signatures": task.edge_signatures,
        "intent": task.intent,
        "category": task.category,
        "required_tools": canonical_text(task.required_tools),
        "tools_present": canonical_text(task.tools_present),
        "difficulty": task.difficulty,
        "turn_class": task.turn_class,
        "tool_call_count": task.tool_call_count,
        "turn_policy": task.turn_policy,
        "num_turns": task.num_turns,
        "num_tool_calls": task.num_tool_calls,
        "coverage_locked": task.coverage_locked,
        "representative_rank": canonical_text(task.representative_rank),
    }


def balanced_from_row(row: Row) -> BalancedTask:
    """Inverse of `balanced_row`."""
    return BalancedTask(
        task_id=row["task_id"],
        contract_version=row["contract_version"],
        selected=row["selected"],
        is_duplicate=row["is_duplicate"],
        duplicate_cluster_id=row["duplicate_cluster_id"],
        representative_task_id=row["representative_task_id"],
        drop_reason=row["drop_reason"],
        balance_dimension=row["balance_dimension"],
        selection_rank=row["selection_rank"],
        curator_cluster_id=row["curator_cluster_id"],
        curator_is_duplicate=row["curator_is_duplicate"],
        curator_predecessor_id=row["curator_predecessor_id"],
        curator_similarity_score=row["curator_similarity_score"],
        text_hash=row["text_hash"],
        capability_signature=row["capability_signature"],
        language=row["language"],
        edge_signatures=tuple(row["edge_signatures"]),
        intent=row["intent"],
        category=row["category"],
        required_tools=tuple(from_canonical(row["required_tools"])),
        tools_present=tuple(from_canonical(row["tools_present"])),
        difficulty=row["difficulty"],
        turn_class=row["turn_class"],
        tool_call_count=row["tool_call_count"],
        turn_policy=row["turn_policy"],
        num_turns=row["num_turns"],
        num_tool_calls=row["num_tool_calls"],
        coverage_locked=row["coverage_locked"],
        representative_rank=tuple(from_canonical(row["representative_rank"])),
    )


TASKS = Codec(artifact="task_instances", to_row=task_row, from_row=task_from_row)
PLANS = Codec(artifact="conversation_plans", to_row=plan_row, from_row=plan_from_row)
SURFACES = Codec(artifact="rendered_conversations", to_row=surface_row, from_row=surface_from_row)
TRACES = Codec(artifact="expected_traces", to_row=trace_row, from_row=trace_from_row)
SCHEMA_VERDICTS = Codec(artifact="schema_validated_traces", to_row=schema_row, from_row=schema_from_row)
REPLAY_VERDICTS = Codec(artifact="replay_validated_tasks", to_row=replay_row, from_row=replay_from_row)
QUALITIES = Codec(artifact="surface_validated_tasks", to_row=quality_row, from_row=quality_from_row)
BALANCED = Codec(artifact="balanced_tasks", to_row=balanced_row, from_row=balanced_from_row)
