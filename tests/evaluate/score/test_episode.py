"""Scores: the verdict under both policies, failure records, the hash, and laws over all that a candidate may do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.digest import sha256_of
from bfcl.evaluate.records import EpisodeEvidence, FailureRecord, Script, TaskScore, attribution
from bfcl.evaluate.score.episode import score_hash
from bfcl.evaluate.score.taxonomy import GATE_REASONS, METRIC_REASONS, METRICS
from bfcl.evaluate.settings.model import Scoring
from tests.evaluate.driven import SCORING, Answer, script
from tests.evaluate.refusals import refused
from tests.evaluate.score.episodes import ANSWERS, Told, Verdict, assertions, executed, resolution, scored, traced

ASSERTIONS_ONLY = replace(SCORING, task_success="assertions_only")


def test_failure_records_tell_the_status_then_every_failed_gate() -> None:
    assert scored(traced({0: ANSWERS["wrong_value"]})).failures == (
        FailureRecord(layer="episode", code="episode.candidate_mismatch", attribution="candidate", subject="episode"),
        FailureRecord(layer="gate", code="arguments.mismatch", attribution="candidate", subject="arguments"),
        FailureRecord(
            layer="gate", code="trace_completion.mismatch", attribution="candidate", subject="trace_completion"
        ),
    )


def test_completed_episode_with_a_failed_assertion_has_the_gates_record_alone() -> None:
    score = scored(executed(told=Told(closing=assertions("failed"))))
    assert [one.code for one in score.failures] == ["executable.assertion_failed"]
    assert not score.task_success


def test_assertions_only_judges_a_departure_by_what_came_of_it() -> None:
    evidence = executed({0: ANSWERS["permuted"]}, Told(closing=assertions("passed")))
    assert scored(evidence, scoring=ASSERTIONS_ONLY).task_success
    assert not scored(evidence).task_success


@pytest.mark.parametrize("verdict", ["failed", "not_applicable"])
def test_assertions_only_never_passes_without_a_passed_assertion(verdict: Verdict) -> None:
    evidence = executed(told=Told(closing=assertions(verdict)))
    assert not scored(evidence, scoring=ASSERTIONS_ONLY).task_success


def test_assertions_only_never_rescues_a_task_that_the_run_stopped() -> None:
    told = Told(broken={0: {"commit": "unknown"}}, stops={0: "unknown_commit_state"}, closing=assertions("passed"))
    score = scored(executed(told=told), scoring=ASSERTIONS_ONLY)
    assert not score.task_success
    assert score.non_candidate_stop


@pytest.mark.parametrize(
    ("evidence", "code", "why"),
    [
        (traced(), "eval_trace_scoring_policy_unsupported", "a trace runs no assertions"),
        (executed(), "eval_executable_scoring_policy_unsupported", f"{traced().task_id} declares no assertion"),
    ],
)
def test_assertions_only_is_refused_where_nothing_is_asserted(evidence: EpisodeEvidence, code: str, why: str) -> None:
    (problem,) = refused(lambda: scored(evidence, scoring=ASSERTIONS_ONLY))
    assert problem.field == "scoring.task_success"
    assert str(problem) == (
        f"{code}: scoring.task_success: assertions_only cannot judge this task: {why}\n"
        "  fix: set `task_success: all_applicable_gates`"
    )


def test_repair_is_refused() -> None:
    (problem,) = refused(lambda: scored(traced(), scoring=replace(SCORING, allow_llm_repair=True)))
    assert problem.field == "scoring.allow_llm_repair"
    assert str(problem) == (
        "eval_trace_scoring_policy_unsupported: scoring.allow_llm_repair: a repaired reply cannot be scored, expected "
        "false\n  fix: set `allow_llm_repair: false`"
    )


# --- the hash -------------------------------------------------------------------------------------------------------


def test_prose_stays_outside_the_hash() -> None:
    told = Told(closing=assertions("passed"))
    evidence = executed(told=told)
    wordy = replace(
        evidence,
        detail="said",
        assertions=tuple(replace(one, detail="seen") for one in evidence.assertions or ()),
        turns=tuple(
            replace(turn, executions=tuple(replace(ran, detail="told") for ran in turn.executions))
            for turn in evidence.turns
        ),
    )
    assert scored(wordy) == scored(evidence)


def test_hash_is_of_what_the_score_says_and_of_the_policy() -> None:
    score = scored(traced())
    assert score.score_hash == score_hash(score, SCORING.policy_hash)
    assert score.score_hash == "sha256:cee5d3f8d22d20a9053457ee5439fecb34e4e53730d43e3d611f07bf7f25071b"
    other = scored(traced(), scoring=replace(SCORING, policy_hash=sha256_of(b"other")))
    assert other.score_hash != score.score_hash
    edits: list[dict[str, Any]] = [
        {"task_success": False},
        {"trial": 1},
        {"gates": score.gates[1:]},
        {"counts": {**score.counts, "task_success_rate": replace(score.counts["task_success_rate"], numerator=0)}},
        {"failures": scored(traced({0: ANSWERS["permuted"]})).failures},
        {"episode_status": "candidate_mismatch"},
        {"non_candidate_stop": True},
        {"candidate_alias": "large"},
        {"task_id": "other"},
        {"mode": "executable"},
    ]
    for edit in edits:
        assert score_hash(replace(score, **edit), SCORING.policy_hash) != score.score_hash


# --- laws -----------------------------------------------------------------------------------------------------------

FLAGS = st.booleans()
SCORINGS = st.builds(
    lambda schema, order, group: replace(
        SCORING,
        argument_matching="schema_then_canonical" if schema else "canonical_only",
        respect_call_order=order,
        respect_call_group=group,
    ),
    FLAGS,
    FLAGS,
    FLAGS,
)
WORDS: list[Answer] = [ANSWERS[name] for name in ("blank", "truncated_words", "malformed", "unreachable", "too_few")]
DEPARTURES = st.one_of(
    st.just({}),
    st.builds(lambda answer: {0: answer}, st.sampled_from(list(ANSWERS.values()))),
    st.builds(lambda turn, answer: {turn: answer}, st.sampled_from([1, 3]), st.sampled_from(WORDS)),
    st.builds(lambda answer: {2: answer}, st.sampled_from(list(ANSWERS.values()))),
)
VERDICTS = st.lists(
    st.tuples(
        st.sampled_from(["state", "final_answer", "path", "other"]),
        st.sampled_from(["passed", "failed", "not_applicable"]),
    ),
    max_size=3,
)
ORACLES = st.sampled_from(
    [
        {},
        {"opening": "oracle_reset_failed"},
        {"resolutions": {0: (resolution(),), 2: (resolution(),)}},
        {"resolutions": {2: (resolution("result_unavailable"),)}},
        {"broken": {2: {"commit": "unknown"}}, "stops": {2: "unknown_commit_state"}},
        {"broken": {0: {"status": "tool_error"}}, "stops": {0: "oracle_call_failed"}},
    ]
)


@st.composite
def episodes(draw: st.DrawFn) -> tuple[Script, EpisodeEvidence, Scoring]:
    """A script with any order, driven in either mode by a candidate that departs somewhere or nowhere."""
    of = script()
    orders: list[Literal["strict", "any", "prefix"]] = ["strict", "any", "prefix"]
    order = draw(st.sampled_from(orders))
    of = replace(of, call_order=order, call_order_prefix=1 if order == "prefix" else None)
    scoring, departures = draw(SCORINGS), draw(DEPARTURES)
    if draw(st.booleans()):
        return of, traced(departures, of=of, scoring=scoring), scoring
    told = Told(**draw(ORACLES), closing=assertions(*draw(VERDICTS)))  # type: ignore[arg-type]
    return of, executed(departures, told, of=of, scoring=scoring), scoring


def score_of(episode: tuple[Script, EpisodeEvidence, Scoring]) -> TaskScore:
    of, evidence, scoring = episode
    return scored(evidence, of=of, scoring=scoring)


@given(episodes())
def test_failure_class_stands_exactly_where_a_gate_failed(episode: tuple[Script, EpisodeEvidence, Scoring]) -> None:
    score = score_of(episode)
    for gate in score.gates:
        assert (gate.failure_class != "none") == (gate.outcome == "failed")
        assert gate.reason_code in GATE_REASONS[gate.name]


@given(episodes())
def test_success_is_that_no_gate_failed_and_then_the_status_is_one_too(
    episode: tuple[Script, EpisodeEvidence, Scoring],
) -> None:
    score = score_of(episode)
    assert score.task_success == all(gate.outcome != "failed" for gate in score.gates)
    if score.task_success:
        assert score.episode_status == "completed"
        assert not score.non_candidate_stop
        assert score.failures == ()


@given(episodes())
def test_run_and_candidate_are_never_mixed_up(episode: tuple[Script, EpisodeEvidence, Scoring]) -> None:
    score = score_of(episode)
    classes = {gate.failure_class for gate in score.gates}
    assert score.non_candidate_stop == (attribution(score.episode_status) == "infrastructure")
    assert score.non_candidate_stop == ("infrastructure" in classes)
    assert len(score.failures) == (score.episode_status != "completed") + sum(
        gate.outcome == "failed" for gate in score.gates
    )


@given(episodes())
def test_counts_are_all_there_and_a_numerator_never_exceeds_its_denominator(
    episode: tuple[Script, EpisodeEvidence, Scoring],
) -> None:
    score = score_of(episode)
    assert tuple(score.counts) == METRICS[score.mode]
    for count in score.counts.values():
        assert 0 <= count.numerator <= count.denominator
        assert (count.reason is None) == (count.denominator > 0)
        assert count.reason is None or count.reason in METRIC_REASONS


@given(episodes())
def test_scoring_the_same_evidence_twice_gives_the_same_score(
    episode: tuple[Script, EpisodeEvidence, Scoring],
) -> None:
    assert score_of(episode) == score_of(episode)
