"""The five gates beyond a trace: what each asks of the oracle, whose failure it is, and where it does not apply."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.evaluate.records import GateName
from tests.evaluate.driven import calls, script, wire_call
from tests.evaluate.score.episodes import ANSWERS, Told, assertions, executed, gate, resolution, scored, traced

FIVE: list[GateName] = [
    "oracle_execution",
    "dependency_resolution",
    "commit_state_known",
    "assertions",
    "executable_completion",
]


def closed(**closing: Any) -> Told:
    return Told(closing=closing)


def test_good_episode_passes_all_five() -> None:
    of = script()
    told = Told(resolutions={0: (resolution(),)}, closing=assertions("passed"))
    score = scored(executed(told=told, of=of), of=of)
    assert [gate(score, name).reason_code for name in FIVE] == [
        "executable.oracle_execution_passed",
        "executable.dependencies_resolved",
        "executable.commit_state_known",
        "executable.assertions_passed",
        "executable.episode_completed",
    ]
    assert score.task_success


def test_business_rejection_is_a_call_that_worked() -> None:
    told = Told(broken={0: {"status": "business_rejection"}})
    assert gate(scored(executed(told=told)), "oracle_execution").outcome == "passed"


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ("malformed_result", "oracle_result_malformed"),
        ("tool_error", "oracle_call_failed"),
        ("timeout", "oracle_timeout"),
    ],
)
def test_call_that_breaks_in_the_oracle_is_the_runs(status: str, ended: Any) -> None:
    found = gate(scored(executed(told=Told(broken={0: {"status": status}}, stops={0: ended}))), "oracle_execution")
    assert (found.reason_code, found.failure_class) == (f"executable.oracle_{status}", "infrastructure")
    assert found.turn_index == 0


def test_call_that_is_not_executed_is_the_candidates() -> None:
    found = gate(scored(executed({0: ANSWERS["forbidden_value"]})), "oracle_execution")
    assert (found.reason_code, found.failure_class, found.turn_index) == (
        "executable.call_not_executed",
        "candidate",
        0,
    )


def test_call_that_breaks_outranks_one_that_was_not_executed() -> None:
    answer = calls(wire_call("open_hatch", {}, call_id="a"), wire_call("read_valve", {"valve": "V-0"}, call_id="b"))
    told = Told(broken={0: {"status": "tool_error"}}, stops={0: "oracle_call_failed"})
    found = gate(scored(executed({0: answer}, told)), "oracle_execution")
    assert (found.reason_code, found.failure_class) == ("executable.oracle_tool_error", "infrastructure")


@pytest.mark.parametrize("status", ["producer_missing", "result_path_missing", "consumer_schema_invalid"])
def test_dependency_that_does_not_resolve_is_the_runs_and_names_the_turn_not_asked(status: str) -> None:
    of = script()
    told = Told(resolutions={2: (resolution(), resolution(status))})
    score = scored(executed(told=told, of=of), of=of)
    found = gate(score, "dependency_resolution")
    assert score.episode_status == "dependency_resolution_failed"
    assert (found.reason_code, found.failure_class, found.turn_index) == (
        f"executable.dependency.{status}",
        "infrastructure",
        2,
    )
    assert gate(score, "trace_completion").turn_index == 2


def test_unknown_commit_is_the_runs() -> None:
    of = script()
    told = Told(broken={2: {"commit": "unknown"}}, stops={2: "unknown_commit_state"})
    found = gate(scored(executed(told=told, of=of), of=of), "commit_state_known")
    assert (found.reason_code, found.failure_class, found.turn_index) == (
        "executable.commit_state_unknown",
        "infrastructure",
        2,
    )


def test_mutating_call_that_was_never_attempted_leaves_nothing_to_know() -> None:
    of = script()
    answer = calls(wire_call("set_valve", {"valve": 1}))
    score = scored(executed({2: answer}, of=of), of=of)
    assert gate(score, "commit_state_known").reason_code == "executable.commit_state_known.not_applicable"


@pytest.mark.parametrize(
    ("closing", "outcome", "code", "blamed"),
    [
        (assertions("passed", "not_applicable"), "passed", "executable.assertions_passed", "none"),
        (assertions("passed", "failed"), "failed", "executable.assertion_failed", "candidate"),
        (assertions("not_applicable"), "not_applicable", "executable.assertions.not_applicable", "none"),
        ({}, "not_applicable", "executable.assertions.not_applicable", "none"),
        (
            {**assertions("failed", "infrastructure_error"), "status": "assertion_infrastructure_failed"},
            "failed",
            "executable.assertion_infrastructure_error",
            "infrastructure",
        ),
        (
            {"declared_assertions": ("check_0",), "status": "oracle_state_failed", "state_known": False},
            "failed",
            "executable.assertion_state_unavailable",
            "infrastructure",
        ),
    ],
)
def test_assertions_pass_only_where_one_passed_and_none_failed(
    closing: dict[str, Any], outcome: str, code: str, blamed: str
) -> None:
    found = gate(scored(executed(told=closed(**closing))), "assertions")
    assert (found.outcome, found.reason_code, found.failure_class) == (outcome, code, blamed)


def test_assertions_cut_short_with_a_known_state_do_not_apply() -> None:
    told = Told(
        broken={0: {"status": "timeout"}},
        stops={0: "oracle_timeout"},
        closing={"declared_assertions": ("check_0",)},
    )
    assert gate(scored(executed(told=told)), "assertions").outcome == "not_applicable"


def test_state_lost_after_a_candidates_stop_is_the_runs_and_counts_as_such() -> None:
    closing = {"declared_assertions": ("check_0",), "state_known": False}
    score = scored(executed({0: ANSWERS["wrong_value"]}, closed(**closing)))
    assert gate(score, "assertions").failure_class == "infrastructure"
    assert gate(score, "executable_completion").failure_class == "candidate"
    assert score.non_candidate_stop


def test_confirmation_that_was_not_earned_is_the_candidates() -> None:
    broken = {"status": "not_executed", "reason": "tool_execution.confirmation_not_earned", "commit": "not_started"}
    told = Told(broken={0: broken}, stops={0: "confirmation_not_earned"})
    score = scored(executed(told=told))
    failing = {one.name: one.failure_class for one in score.gates if one.outcome == "failed"}
    assert failing == dict.fromkeys(["trace_completion", "oracle_execution", "executable_completion"], "candidate")


def test_trace_score_has_none_of_the_five() -> None:
    assert not {one.name for one in scored(traced()).gates} & set(FIVE)
