"""How does a score stand in the table of task results? Rule: evaluation.md §11."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.evaluate.records import Count, Gate, GateName, TaskScore
from bfcl.tables.task_results import TaskResultRow


def result_row(score: TaskScore, canonical_id: str) -> TaskResultRow:
    """The row of one score.

    A trace has no flag for milestones, execution and assertions. In an executable row names, arguments, milestones
    and final answers are held to their counts, the others to their gates.
    """
    gates = {gate.name: gate for gate in score.gates}
    executable = score.mode == "executable"
    selection = _gate(gates, "tool_selection")
    return TaskResultRow(
        candidate_alias=score.candidate_alias,
        candidate_canonical_id=canonical_id,
        task_id=score.task_id,
        mode=score.mode,
        schema_valid=_gate(gates, "schema_valid"),
        tool_name_correct=_count(score.counts["tool_name_accuracy"]) if executable else selection,
        arguments_correct=_count(score.counts["argument_accuracy"]) if executable else _gate(gates, "arguments"),
        call_group_correct=_gate(gates, "call_grouping"),
        call_order_correct=_gate(gates, "call_ordering"),
        required_subset_correct=selection,
        milestones_correct=_count(score.counts["milestone_accuracy"]) if executable else None,
        execution_success=_gate(gates, "oracle_execution"),
        assertions_passed=_gate(gates, "assertions"),
        final_answer_passed=_count(score.counts["final_answer_success_rate"]) if executable else None,
        episode_status=score.episode_status,
        non_candidate_stop=score.non_candidate_stop,
        task_success=score.task_success,
        failure_codes=[one.code for one in score.failures],
        failure_records=[
            {"layer": one.layer, "code": one.code, "attribution": one.attribution, "subject": one.subject}
            for one in score.failures
        ],
    )


def _gate(gates: Mapping[GateName, Gate], name: GateName) -> bool | None:
    """Whether a gate passed; None where it does not apply or the score has no such gate."""
    gate = gates.get(name)
    return None if gate is None or gate.outcome == "not_applicable" else gate.outcome == "passed"


def _count(count: Count) -> bool | None:
    return count.numerator == count.denominator if count.denominator else None
