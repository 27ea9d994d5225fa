"""The seven gates of a trace: which departure fails which, whose failure it is, and where a gate does not apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bfcl.evaluate.records import TRACE_GATES, GateName, Script
from bfcl.evaluate.settings.model import Scoring
from tests.evaluate.driven import LIMITS, SCORING, Answer, calls, one_group, script, wire_call, words
from tests.evaluate.score.episodes import ANSWERS, Told, executed, failed, gate, scored, traced

T = "trace_completion"
COVERAGE = ["tool_selection", "arguments"]


def text_only() -> Script:
    """A script without any call: U A; the tools are offered all the same."""
    whole = script()
    return replace(whole, turns=(replace(whole.turns[3], index=0),), required_tools=())


SIGNATURES: list[tuple[str, list[str]]] = [
    ("declared_tool", [*COVERAGE, T]),
    ("undeclared_tool", [*COVERAGE, "schema_valid", T]),
    ("wrong_value", ["arguments", T]),
    ("forbidden_value", ["arguments", "schema_valid", T]),
    ("unparseable", ["arguments", "schema_valid", T]),
    ("permuted", ["call_ordering", T]),
    ("too_many", ["tool_selection", "call_grouping", T]),
    ("too_few", [*COVERAGE, "call_grouping", T]),
    ("words", [*COVERAGE, "call_grouping", T]),
    ("truncated", [T]),
    ("same_ids", [T]),
    ("malformed", [*COVERAGE, "call_grouping", T]),
]


@pytest.mark.parametrize(("departure", "gates"), SIGNATURES)
def test_departure_in_the_only_call_group_fails_its_gates_as_the_candidates(departure: str, gates: list[str]) -> None:
    score = scored(traced({0: ANSWERS[departure]}))
    assert failed(score) == dict.fromkeys(gates, "candidate")
    assert {gate.turn_index for gate in score.gates if gate.outcome == "failed"} == {0}
    assert not score.task_success
    assert not score.non_candidate_stop


@pytest.mark.parametrize(("departure", "gates"), SIGNATURES)
def test_departure_fails_the_same_trace_gates_of_an_executable_score(departure: str, gates: list[str]) -> None:
    score = scored(executed({0: ANSWERS[departure]}))
    assert [name for name in failed(score) if name in TRACE_GATES] == gates
    assert set(failed(score).values()) == {"candidate"}


@pytest.mark.parametrize(("departure", "gates"), SIGNATURES)
def test_stop_before_later_gold_calls_adds_both_coverage_gates(departure: str, gates: list[str]) -> None:
    of = script()
    score = scored(traced({0: ANSWERS[departure]}, of=of), of=of)
    assert list(failed(score)) == [name for name in TRACE_GATES if name in {*gates, *COVERAGE}]
    assert set(failed(score).values()) == {"candidate"}


@pytest.mark.parametrize(
    ("answer", "gates"),
    [
        (calls(wire_call("list_alarms", {})), ["tool_selection", "text_turn", T]),
        (ANSWERS["blank"], ["text_turn", T]),
        (ANSWERS["truncated_words"], [T]),
        ("malformed_response", ["text_turn", T]),
    ],
)
def test_departure_on_the_last_text_turn_fails_its_gates(answer: Answer, gates: list[str]) -> None:
    score = scored(traced({1: answer}))
    assert failed(score) == dict.fromkeys(gates, "candidate")
    assert gate(score, "trace_completion").turn_index == 1


def test_gold_replies_pass_every_gate() -> None:
    of = script()
    score = scored(traced(of=of), of=of)
    assert [one.name for one in score.gates] == list(TRACE_GATES)
    assert [one.reason_code for one in score.gates] == [f"{name}.matched" for name in TRACE_GATES]
    assert {(one.failure_class, one.turn_index) for one in score.gates} == {("none", None)}
    assert score.task_success
    assert score.failures == ()


# --- whose failure it is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "gates"),
    [
        (0, [*COVERAGE, "call_grouping", T]),
        (1, [*COVERAGE, "text_turn", T]),
        (2, [*COVERAGE, "call_grouping", T]),
        (3, ["text_turn", T]),
    ],
)
def test_unreachable_endpoint_fails_coverage_the_turns_own_gate_and_completion_as_the_runs(
    turn: int, gates: list[str]
) -> None:
    of = script()
    score = scored(traced({turn: "retry_exhausted"}, of=of), of=of)
    assert failed(score) == dict.fromkeys(gates, "infrastructure")
    assert score.non_candidate_stop
    assert not score.task_success


@pytest.mark.parametrize(("allowed", "gates"), [(1, [*COVERAGE, T]), (3, [T])])
def test_run_that_stops_after_an_answered_turn_fails_what_was_never_asked(allowed: int, gates: list[str]) -> None:
    of = script()
    limits = replace(LIMITS, max_turns=allowed)
    score = scored(traced(of=of, limits=limits), of=of)
    assert score.episode_status == "max_turns_exceeded"
    assert failed(score) == dict.fromkeys(gates, "infrastructure")
    assert gate(score, "trace_completion").turn_index == allowed


def test_oracle_that_breaks_under_a_good_reply_fails_completion_as_the_runs() -> None:
    told = Told(broken={0: {"status": "tool_error", "result": None}}, stops={0: "oracle_call_failed"})
    score = scored(executed(told=told))
    assert failed(score) == dict.fromkeys([T, "oracle_execution", "executable_completion"], "infrastructure")
    assert (gate(score, "trace_completion").turn_index, gate(score, "oracle_execution").turn_index) == (1, 0)


def test_oracle_that_breaks_in_the_last_turn_fails_completion_with_no_turn_to_name() -> None:
    of = one_group()
    ends = replace(of, turns=(replace(of.turns[0], terminal=True),))
    told = Told(broken={0: {"status": "timeout", "result": None}}, stops={0: "oracle_timeout"})
    score = scored(executed(told=told, of=ends), of=ends)
    assert failed(score)[T] == "infrastructure"
    assert gate(score, "trace_completion").turn_index is None


def test_oracle_that_breaks_under_a_mismatch_leaves_the_mismatch_to_the_candidate() -> None:
    told = Told(broken={0: {"status": "timeout", "result": None}}, stops={0: "oracle_timeout"})
    score = scored(executed({0: ANSWERS["wrong_value"]}, told))
    assert failed(score) == {
        "arguments": "candidate",
        T: "candidate",
        "oracle_execution": "infrastructure",
        "executable_completion": "infrastructure",
    }
    assert score.non_candidate_stop


def test_state_that_cannot_be_read_after_the_talk_leaves_the_trace_complete() -> None:
    told = Told(closing={"status": "oracle_state_failed", "state_known": False})
    score = scored(executed(told=told))
    assert failed(score) == {"executable_completion": "infrastructure"}


def test_reset_that_fails_names_the_first_turn() -> None:
    score = scored(executed(told=Told(opening="oracle_reset_failed")))
    assert failed(score) == dict.fromkeys([*COVERAGE, T, "executable_completion"], "infrastructure")
    assert {one.turn_index for one in score.gates if one.outcome == "failed"} == {0}


# --- where a gate does not apply ------------------------------------------------------------------------------------


def not_applicable(score_of: Script, scoring: Scoring = SCORING, **how: Answer) -> Sequence[GateName]:
    instead = {int(turn[1:]): answer for turn, answer in how.items()}
    score = scored(traced(instead, of=score_of, scoring=scoring), of=score_of, scoring=scoring)
    for one in score.gates:
        assert (one.outcome == "not_applicable") == (one.reason_code == f"{one.name}.not_applicable")
    return [one.name for one in score.gates if one.outcome == "not_applicable"]


def test_row_without_calls_has_no_arguments_schema_grouping_and_order() -> None:
    assert not_applicable(text_only()) == ["arguments", "schema_valid", "call_grouping", "call_ordering"]


def test_row_without_calls_fails_selection_and_schema_for_a_call_that_is_made() -> None:
    of = text_only()
    score = scored(traced({0: calls(wire_call("open_hatch", {}))}, of=of), of=of)
    assert list(failed(score)) == ["tool_selection", "schema_valid", "text_turn", T]


def test_canonical_only_has_no_schema_gate() -> None:
    scoring = replace(SCORING, argument_matching="canonical_only")
    assert not_applicable(script(), scoring) == ["schema_valid"]


def test_call_turn_answered_in_words_has_no_schema_and_no_text_turn() -> None:
    assert not_applicable(one_group(), t0=words("No.")) == ["schema_valid", "text_turn"]


def test_call_turn_without_a_reply_has_no_schema_order_and_text_turn() -> None:
    assert not_applicable(one_group(), t0="retry_exhausted") == ["schema_valid", "call_ordering", "text_turn"]


def test_flags_switch_grouping_and_order_off_and_the_episode_stops_all_the_same() -> None:
    scoring = replace(SCORING, respect_call_group=False, respect_call_order=False)
    assert not_applicable(script(), scoring) == ["call_grouping", "call_ordering"]
    score = scored(traced({0: ANSWERS["permuted"]}, scoring=scoring), scoring=scoring)
    assert failed(score) == {T: "candidate"}


def test_free_order_and_a_single_gold_call_have_no_order() -> None:
    of = one_group()
    assert not_applicable(replace(of, call_order="any")) == ["call_ordering"]
    single = replace(of.turns[0], calls=of.turns[0].calls[:1])
    assert not_applicable(replace(of, turns=(single, *of.turns[1:]))) == ["call_ordering"]


def test_executable_score_says_not_applicable_in_its_own_namespace() -> None:
    of = text_only()
    score = scored(executed(of=of), of=of)
    codes = {one.name: one.reason_code for one in score.gates if one.outcome == "not_applicable"}
    assert codes == {name: f"executable.{name}.not_applicable" for name in codes}
    assert list(codes) == [
        "arguments",
        "schema_valid",
        "call_grouping",
        "call_ordering",
        "oracle_execution",
        "dependency_resolution",
        "commit_state_known",
        "assertions",
    ]


def test_truncated_finish_has_a_reason_of_its_own() -> None:
    score = scored(traced({0: ANSWERS["truncated"]}))
    assert gate(score, "trace_completion").reason_code == "trace_completion.incomplete_finish_reason"
