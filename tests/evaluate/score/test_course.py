"""What a candidate on a way of its own is credited with, and who answers for where an episode stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.score.course import course_of
from tests.evaluate.driven import (
    LIMITS,
    SCORING,
    Answer,
    Answering,
    as_expected,
    calls,
    one_group,
    play,
    script,
    wire_call,
    words,
)
from tests.evaluate.score.episodes import (
    ANSWERS,
    READ_0,
    READ_1,
    Told,
    assertions,
    executed,
    failed,
    gate,
    resolution,
    scored,
    traced,
)

LIVE = replace(SCORING, executable_continuation="live")


def roamed(*answers: Answer, of: Script | None = None, told: Told | None = None, **how: Any) -> EpisodeEvidence:
    """An episode of `one_group` in which the candidate answers so, whatever it is asked."""
    client = Answering(lambda request: answers[request.turn_index])
    return play(of or one_group(), client, scoring=LIVE, mode="executable", results=told or Told(), **how)


def score_of(evidence: EpisodeEvidence) -> TaskScore:
    return scored(evidence, scoring=LIVE)


DONE = words("Done.")


def test_split_group_earns_its_calls_and_fails_the_grouping() -> None:
    score = score_of(roamed(calls(READ_1), calls(READ_0), DONE))
    assert score.episode_status == "completed"
    assert score.counts["argument_accuracy"].numerator == 2
    assert failed(score)["call_grouping"] == "candidate"
    assert gate(score, "tool_selection").outcome == "passed"
    assert gate(score, "trace_completion").outcome == "passed"


def test_gold_call_that_is_made_twice_is_one_too_many() -> None:
    score = score_of(roamed(calls(READ_1), calls(READ_1), calls(READ_0), DONE))
    assert gate(score, "tool_selection").outcome == "failed"
    assert gate(score, "arguments").outcome == "passed"


def test_gold_call_that_is_corrected_is_earned() -> None:
    wrong = wire_call("read_valve", {"valve": "V-9"}, call_id="c")
    score = score_of(roamed(calls(READ_1, wrong), calls(READ_0), DONE))
    assert gate(score, "arguments").outcome == "passed"
    assert gate(score, "tool_selection").outcome == "passed"


def test_oracle_that_breaks_on_a_way_of_its_own_is_the_runs_though_the_turn_was_answered() -> None:
    told = Told(broken={0: {"status": "timeout"}}, stops={0: "oracle_timeout"})
    score = score_of(roamed(calls(READ_1), told=told))
    assert failed(score)["trace_completion"] == "infrastructure"
    assert failed(score)["arguments"] == "candidate"
    assert gate(score, "trace_completion").turn_index is None


def test_turn_asked_again_in_vain_is_the_runs() -> None:
    score = score_of(roamed(calls(READ_1), "retry_exhausted"))
    assert set(failed(score).values()) == {"infrastructure"}
    assert gate(score, "trace_completion").turn_index == 0


def test_limit_of_turns_on_a_way_of_its_own_is_the_runs() -> None:
    limits = replace(LIMITS, max_turns=2)
    score = score_of(roamed(calls(READ_1), calls(READ_1), limits=limits))
    assert score.episode_status == "max_turns_exceeded"
    assert failed(score)["trace_completion"] == "infrastructure"


def test_argument_whose_producer_was_never_called_is_the_candidates_there() -> None:
    told = Told(resolutions={0: (resolution("producer_missing"),)})
    score = score_of(roamed(as_expected(one_group().turns[0]), DONE, told=told))
    found = gate(score, "dependency_resolution")
    assert (found.reason_code, found.failure_class) == ("executable.dependency.producer_missing", "candidate")
    assert not score.non_candidate_stop


def test_state_lost_after_the_last_words_leaves_the_talk_complete_and_blank_words_do_not() -> None:
    told = Told(closing={"status": "oracle_state_failed", "state_known": False})
    assert gate(score_of(roamed(calls(READ_1), DONE, told=told)), "trace_completion").outcome == "passed"
    broken = {**assertions("infrastructure_error"), "status": "assertion_infrastructure_failed"}
    score = score_of(roamed(calls(READ_1), words(" "), told=Told(closing=broken)))
    assert gate(score, "trace_completion").outcome == "failed"


def test_assertion_that_breaks_after_a_mismatch_leaves_the_conversation_to_the_candidate() -> None:
    broken = {**assertions("infrastructure_error"), "status": "assertion_infrastructure_failed"}
    score = scored(executed({0: ANSWERS["wrong_value"]}, Told(closing=broken)))
    assert failed(score) == {
        "arguments": "candidate",
        "trace_completion": "candidate",
        "assertions": "infrastructure",
        "executable_completion": "infrastructure",
    }
    assert score.non_candidate_stop


def test_course_of_an_episode_on_the_gold_path_counts_what_was_answered() -> None:
    of = one_group()
    course = course_of(of, traced({1: "retry_exhausted"}), SCORING)
    assert (course.answered, course.named, course.matched) == (frozenset({0}), frozenset({0, 1}), frozenset({0, 1}))
    assert (course.surplus, course.reached_end, course.live) == ((), False, False)
    assert (course.blame(0), course.blame(1), course.blame(None)) == ("candidate", "infrastructure", "infrastructure")
    stopped = course_of(of, traced({0: ANSWERS["too_many"]}), SCORING)
    assert stopped.surplus == (0,)
    assert stopped.blame(1) == "candidate"


def test_deadline_that_passes_after_words_in_between_leaves_the_talk_incomplete() -> None:
    of = script()
    told = [as_expected(turn) for turn in of.turns]
    evidence = roamed(*told, of=of, ticks=(0.0, 0.0, 0.0, 61.0))
    assert evidence.status == "episode_timeout"
    score = scored(evidence, of=of, scoring=LIVE)
    assert failed(score)["trace_completion"] == "infrastructure"
