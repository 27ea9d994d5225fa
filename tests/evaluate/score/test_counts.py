"""What a task adds to each metric, and the reason where it adds nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bfcl.evaluate.records import Count
from bfcl.evaluate.score.counts import metric_json
from tests.evaluate.driven import calls, script, wire_call
from tests.evaluate.score.episodes import (
    ANSWERS,
    READ_1,
    Told,
    assertions,
    executed,
    gate,
    scored,
    traced,
)


def counted(**how: Any) -> dict[str, tuple[int, int] | str | None]:
    """Counts of an executable episode of the longer script; a reason where nothing counts."""
    of = script()
    counts = scored(executed(of=of, **how), of=of).counts
    return {name: (one.numerator, one.denominator) if one.denominator else one.reason for name, one in counts.items()}


def test_gold_episode_counts_everything_in_full() -> None:
    told = Told(closing=assertions("passed", ("final_answer", "passed"), ("path", "passed"), ("other", "passed")))
    assert counted(told=told) == {
        "schema_valid_rate": (1, 1),
        "call_group_accuracy": (1, 1),
        "call_order_accuracy": (1, 1),
        "required_call_subset_accuracy": (1, 1),
        "tool_name_accuracy": (3, 3),
        "argument_accuracy": (3, 3),
        "milestone_accuracy": (2, 2),
        "turn_success_rate": (4, 4),
        "tool_execution_success_rate": (3, 3),
        "assertion_success_rate": (4, 4),
        "state_match_rate": (1, 1),
        "final_answer_success_rate": (1, 1),
        "path_success_rate": (1, 1),
        "task_success_rate": (1, 1),
    }


def test_departure_keeps_what_was_never_reached_in_the_denominators() -> None:
    answer = calls(READ_1, wire_call("read_valve", {"valve": 9}, call_id="b"))
    found = counted(instead={0: answer}, told=Told(closing=assertions("failed", "passed", "not_applicable")))
    assert found["tool_name_accuracy"] == (2, 3)
    assert found["argument_accuracy"] == (1, 3)
    assert found["milestone_accuracy"] == (0, 2)
    assert found["turn_success_rate"] == (0, 1)
    # The call that breaks the schema never reached the oracle, and is no attempt.
    assert found["tool_execution_success_rate"] == (1, 1)
    assert found["assertion_success_rate"] == (1, 2)
    assert found["state_match_rate"] == (1, 2)
    assert found["final_answer_success_rate"] == "metric.no_final_answer_assertion"
    assert found["path_success_rate"] == (0, 1)
    assert found["task_success_rate"] == (0, 1)


def test_call_that_broke_is_an_attempt_that_failed() -> None:
    told = Told(broken={0: {"status": "tool_error"}}, stops={0: "oracle_call_failed"})
    assert counted(told=told)["tool_execution_success_rate"] == (1, 2)


def test_failed_path_assertion_fails_the_path_and_nothing_else_of_it() -> None:
    assert counted(told=Told(closing=assertions("passed", ("path", "failed"))))["path_success_rate"] == (0, 1)
    assert counted(told=Told(closing=assertions("failed", ("path", "not_applicable"))))["path_success_rate"] == (1, 1)


def test_row_without_calls_gives_its_reasons() -> None:
    whole = script()
    of = replace(whole, turns=(replace(whole.turns[3], index=0),), required_tools=())
    counts = scored(executed(of=of), of=of).counts
    assert {name: one.reason for name, one in counts.items() if one.reason} == {
        "schema_valid_rate": "metric.gate_not_applicable",
        "call_group_accuracy": "metric.gate_not_applicable",
        "call_order_accuracy": "metric.gate_not_applicable",
        "tool_name_accuracy": "metric.no_expected_call",
        "argument_accuracy": "metric.no_expected_call",
        "tool_execution_success_rate": "metric.no_attempted_call",
        "assertion_success_rate": "metric.no_declared_assertion",
        "state_match_rate": "metric.no_state_assertion",
        "final_answer_success_rate": "metric.no_final_answer_assertion",
    }
    assert counts["required_call_subset_accuracy"] == Count(numerator=1, denominator=1)


def test_row_of_calls_alone_has_no_milestone() -> None:
    whole = script()
    of = replace(whole, turns=(replace(whole.turns[0], terminal=True),))
    assert scored(executed(of=of), of=of).counts["milestone_accuracy"].reason == "metric.no_text_milestone"


def test_episode_that_asked_nothing_evaluates_no_turn() -> None:
    found = counted(told=Told(opening="oracle_reset_failed"))
    assert found["turn_success_rate"] == "metric.no_evaluated_turn"
    assert found["tool_name_accuracy"] == (0, 3)
    assert found["task_success_rate"] == (0, 1)


def test_assertions_that_all_do_not_apply_are_no_success() -> None:
    found = counted(told=Told(closing=assertions("not_applicable", ("final_answer", "passed"))))
    assert found["state_match_rate"] == "metric.all_assertions_not_applicable"
    assert found["assertion_success_rate"] == (1, 1)


@pytest.mark.parametrize(
    ("closing", "score_status"),
    [
        ({**assertions("passed", "infrastructure_error"), "status": "assertion_infrastructure_failed"}, "ran"),
        ({"declared_assertions": ("one",), "state_known": False, "status": "oracle_state_failed"}, "lost"),
    ],
)
def test_missing_verdicts_leave_assertion_and_path_metrics_without_value(
    closing: dict[str, Any], score_status: str
) -> None:
    found = counted(told=Told(closing=closing))
    for name in ("assertion_success_rate", "state_match_rate", "final_answer_success_rate"):
        assert found[name] == "metric.assertion_evidence_incomplete", score_status
    assert found["path_success_rate"] == "metric.path_evidence_incomplete"


def test_path_that_the_run_cut_has_no_value_though_nothing_is_asserted() -> None:
    assert counted(instead={0: "retry_exhausted"})["path_success_rate"] == "metric.path_evidence_incomplete"


def test_trace_counts_mirror_its_gates() -> None:
    score = scored(traced({0: ANSWERS["wrong_value"]}))
    for name, count in score.counts.items():
        if name != "task_success_rate":
            outcome = gate(score, name.removesuffix("_pass_rate")).outcome  # type: ignore[arg-type]
            assert (count.numerator, count.denominator) == {
                "passed": (1, 1),
                "failed": (0, 1),
                "not_applicable": (0, 0),
            }[outcome]
    assert score.counts["text_turn_pass_rate"].reason == "metric.gate_not_applicable"
    assert score.counts["task_success_rate"] == Count(numerator=0, denominator=1)


def test_metric_shows_its_quotient_or_why_there_is_none() -> None:
    assert metric_json(Count(numerator=1, denominator=4)) == {
        "numerator": 1,
        "denominator": 4,
        "value": 0.25,
        "not_applicable_reason": None,
    }
    assert metric_json(Count(numerator=0, denominator=0, reason="metric.no_attempted_call")) == {
        "numerator": 0,
        "denominator": 0,
        "value": None,
        "not_applicable_reason": "metric.no_attempted_call",
    }


def test_verdicts_on_a_state_that_was_never_read_are_no_evidence() -> None:
    found = counted(told=Told(closing={**assertions("passed"), "state_known": False, "status": "oracle_state_failed"}))
    assert found["state_match_rate"] == "metric.assertion_evidence_incomplete"
