"""What does one task add to each metric, and why nothing where it adds nothing? Rule: evaluation.md §10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bfcl.canonical import Json
from bfcl.evaluate.records import AssertionEvidence, Count, EpisodeEvidence, Gate, GateName
from bfcl.evaluate.score.course import Course
from bfcl.evaluate.score.executable_gates import SUCCESSFUL, executions
from bfcl.evaluate.score.taxonomy import (
    ALL_ASSERTIONS_NOT_APPLICABLE,
    ASSERTION_EVIDENCE_INCOMPLETE,
    GATE_NOT_APPLICABLE,
    NO_ATTEMPTED_CALL,
    NO_DECLARED_ASSERTION,
    NO_EVALUATED_TURN,
    NO_EXPECTED_CALL,
    NO_FINAL_ANSWER_ASSERTION,
    NO_STATE_ASSERTION,
    NO_TEXT_MILESTONE,
    PATH_EVIDENCE_INCOMPLETE,
)

_OFF_PATH: frozenset[GateName] = frozenset({"commit_state_known", "assertions"})
"""Gates that say nothing about the path."""


def task_counts(course: Course, gates: Sequence[Gate], *, success: bool) -> dict[str, Count]:
    """The task's part of every metric of its mode, in report order."""
    verdict = Count(numerator=int(success), denominator=1)
    if course.evidence.mode == "trace":
        rates = {f"{gate.name}_pass_rate": _of_gate(gate) for gate in gates}
        return {**rates, "task_success_rate": verdict}
    by_name = {gate.name: gate for gate in gates}
    return {
        "schema_valid_rate": _of_gate(by_name["schema_valid"]),
        "call_group_accuracy": _of_gate(by_name["call_grouping"]),
        "call_order_accuracy": _of_gate(by_name["call_ordering"]),
        "required_call_subset_accuracy": _of_gate(by_name["tool_selection"]),
        **_of_conversation(course),
        "assertion_success_rate": _of_assertions(course.evidence, None, NO_DECLARED_ASSERTION),
        "state_match_rate": _of_assertions(course.evidence, "state", NO_STATE_ASSERTION),
        "final_answer_success_rate": _of_assertions(course.evidence, "final_answer", NO_FINAL_ANSWER_ASSERTION),
        "path_success_rate": _of_path(course.evidence, gates),
        "task_success_rate": verdict,
    }


def metric_json(count: Count) -> dict[str, Json]:
    """A metric as reports show it; `value` is null where nothing was counted."""
    value = count.numerator / count.denominator if count.denominator else None
    return {**count_json(count), "value": value}


def count_json(count: Count) -> dict[str, Json]:
    """A metric as hashes cover it: without the quotient, which follows from the rest."""
    return {
        "numerator": count.numerator,
        "denominator": count.denominator,
        "not_applicable_reason": count.reason,
    }


def counts_json(counts: Mapping[str, Count]) -> dict[str, Json]:
    """Several metrics as hashes cover them."""
    return {name: count_json(count) for name, count in counts.items()}


def _count(numerator: int, denominator: int, reason: str) -> Count:
    return Count(numerator=numerator, denominator=denominator, reason=None if denominator else reason)


def _of_gate(gate: Gate) -> Count:
    applies = int(gate.outcome != "not_applicable")
    return _count(int(gate.outcome == "passed"), applies, GATE_NOT_APPLICABLE)


def _of_conversation(course: Course) -> dict[str, Count]:
    script, turns = course.script, course.evidence.turns
    gold = len(script.gold_calls)
    words = sum(not turn.calls for turn in script.turns)
    said = len({turn.turn_index for turn in turns if turn.text_ok})
    attempted = [one.status for _, one in executions(course) if one.status != "not_executed"]
    worked = sum(status in SUCCESSFUL for status in attempted)
    return {
        "tool_name_accuracy": _count(len(course.named), gold, NO_EXPECTED_CALL),
        "argument_accuracy": _count(len(course.matched), gold, NO_EXPECTED_CALL),
        "milestone_accuracy": _count(said, words, NO_TEXT_MILESTONE),
        "turn_success_rate": _count(sum(turn.advanced for turn in turns), len(turns), NO_EVALUATED_TURN),
        "tool_execution_success_rate": _count(worked, len(attempted), NO_ATTEMPTED_CALL),
    }


def _of_assertions(evidence: EpisodeEvidence, category: str | None, none_of_it: str) -> Count:
    """Passed over applicable ones of a category, or of all."""
    if not evidence.declared_assertions:
        return _count(0, 0, none_of_it)
    ran = _complete(evidence)
    if ran is None:
        return _count(0, 0, ASSERTION_EVIDENCE_INCOMPLETE)
    verdicts = [one.verdict for one in ran if category in (None, one.category)]
    applicable = len(verdicts) - verdicts.count("not_applicable")
    return _count(verdicts.count("passed"), applicable, ALL_ASSERTIONS_NOT_APPLICABLE if verdicts else none_of_it)


def _complete(evidence: EpisodeEvidence) -> Sequence[AssertionEvidence] | None:
    """Every declared assertion with a verdict on the candidate, or None where one is missing."""
    if not evidence.declared_assertions:
        return ()
    ran = evidence.assertions
    if ran is None or not evidence.state_known or any(one.verdict == "infrastructure_error" for one in ran):
        return None
    return ran


def _of_path(evidence: EpisodeEvidence, gates: Sequence[Gate]) -> Count:
    """Nothing is counted where the run kept the path from being known: by its own stop or by missing verdicts."""
    failed = [gate for gate in gates if gate.outcome == "failed" and gate.name not in _OFF_PATH]
    ran = _complete(evidence)
    if ran is None or any(gate.failure_class == "infrastructure" for gate in failed):
        return _count(0, 0, PATH_EVIDENCE_INCOMPLETE)
    held = all(one.verdict in ("passed", "not_applicable") for one in ran if one.category == "path")
    return _count(int(held and not failed), 1, PATH_EVIDENCE_INCOMPLETE)
