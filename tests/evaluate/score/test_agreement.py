"""Evidence that disagrees with its script, with itself or with the gates drawn from it is refused, fault by fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bfcl.evaluate.records import EpisodeEvidence, EpisodeStatus, Gate
from bfcl.evaluate.score.agreement import require_gates
from tests.evaluate.driven import SCORING, script
from tests.evaluate.refusals import refused
from tests.evaluate.score.episodes import ANSWERS, Told, assertions, executed, resolution, scored, traced

FIX = "\n  fix: evaluate into a new output directory; this episode was not recorded as it was driven"

Edit = Callable[[EpisodeEvidence], EpisodeEvidence]


def told(evidence: EpisodeEvidence) -> list[str]:
    """Code and message of every refusal, the subject and fix checked."""
    problems = refused(lambda: scored(evidence))
    place = f": {evidence.candidate_alias}:{evidence.task_id}: "
    assert all(place in str(one) and str(one).endswith(FIX) for one in problems)
    return [f"{one.code}: {one.message}" for one in problems]


def turn(place: int, **edits: Any) -> Edit:
    """An edit of one turn."""

    def edited(evidence: EpisodeEvidence) -> EpisodeEvidence:
        turns = list(evidence.turns)
        turns[place] = replace(turns[place], **edits)
        return replace(evidence, turns=tuple(turns))

    return edited


def whole(**edits: Any) -> Edit:
    return lambda evidence: replace(evidence, **edits)


def cut(evidence: EpisodeEvidence) -> EpisodeEvidence:
    return replace(evidence, turns=evidence.turns[:1])


GOOD = traced()
TASK = GOOD.task_id


def test_refusal_names_candidate_task_and_what_to_do() -> None:
    (problem,) = refused(lambda: scored(cut(GOOD)))
    assert str(problem) == (
        f"eval_trace_evidence_mismatch: small:{TASK}: status is completed after 1 of 2 turns, the last one short{FIX}"
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (whole(task_id="other"), f"the evidence is held against the script of {TASK}"),
        (whole(status="oracle_timeout"), "status oracle_timeout cannot end an episode without an oracle"),
        (whole(declared_assertions=("one",)), "assertions stand in an episode without an oracle"),
        (turn(1, turn_index=2), "turn 2 was asked, the script has 2"),
        (turn(0, gold=()), "turn 0 expects the gold calls [], the script [0, 1]"),
        (turn(1, text_ok=None), "turn 1 was judged as another kind of turn than the script has"),
        (turn(1, call_status="timeout"), "turn 1 has call status timeout and a reply"),
        (turn(0, matches=GOOD.turns[0].matches[:1]), "turn 0 makes 2 calls and compares 1"),
        (turn(0, executions=executed().turns[0].executions), "turn 0 has 2 executions, expected 0"),
        (turn(1, text_ok=False), "turn 1 advanced without the reply it expects"),
        (turn(0, ordered=False), "turn 0 advanced without the reply it expects"),
        (turn(0, advanced=False), "turn 0 did not advance and the episode went on"),
        (whole(turns=(GOOD.turns[1], GOOD.turns[0])), "turns were asked in the order [1, 0]"),
        (whole(unresolved=(resolution("producer_missing"),)), "status is completed with 1 arguments that ended"),
        (whole(status="dependency_resolution_failed"), "without an oracle"),
        (whole(status="max_turns_exceeded"), "status is max_turns_exceeded though every turn advanced"),
        (whole(status="candidate_mismatch"), "status is candidate_mismatch, which the last turn does not show"),
        (whole(status="malformed_response"), "status is malformed_response, which the last turn does not show"),
        (whole(status="candidate_call_failed"), "status is candidate_call_failed, which the last turn does not show"),
        (whole(status="unusable_tool_call_ids"), "status is unusable_tool_call_ids, which the last turn"),
    ],
)
def test_trace_evidence_that_cannot_have_happened_is_refused(edit: Edit, message: str) -> None:
    problems = told(edit(GOOD))
    assert all(one.startswith("eval_trace_evidence_mismatch: ") for one in problems)
    assert any(message in one for one in problems), problems


def test_reply_that_is_missing_from_a_completed_call_is_refused() -> None:
    evidence = traced({1: "retry_exhausted"})
    problems = told(turn(1, call_status="completed")(evidence))
    assert problems == ["eval_trace_evidence_mismatch: turn 1 has call status completed and no reply"]


def test_mismatch_of_a_reply_that_fits_is_refused() -> None:
    evidence = replace(GOOD, status="candidate_mismatch", turns=(GOOD.turns[0], replace(GOOD.turns[1], advanced=False)))
    assert told(evidence) == [
        "eval_trace_evidence_mismatch: status is candidate_mismatch, which the last turn does not show"
    ]


RAN = executed(told=Told(closing=assertions("passed", "passed")))


@pytest.mark.parametrize(
    ("edit", "messages"),
    [
        (turn(0, executions=()), ["turn 0 has 0 executions, expected 2"]),
        (whole(assertions=None), ["status is completed and none of 2 assertions ran"]),
        (
            lambda one: replace(one, assertions=one.assertions[:1]),
            ["assertions check_0 ran, declared are check_0, check_1"],
        ),
        (
            whole(status="oracle_timeout"),
            [
                "status is oracle_timeout though every turn advanced",
                "status is oracle_timeout, which the last turn does not show",
            ],
        ),
        (whole(status="oracle_reset_failed"), None),
        (whole(status="confirmation_not_earned"), None),
        (whole(status="unknown_commit_state"), None),
        (
            whole(state_known=False),
            ["status completed is not the run's, and by infrastructure fail assertions"],
        ),
        (
            lambda one: turn(0, executions=tuple(replace(ran, status="timeout") for ran in one.turns[0].executions))(
                one
            ),
            [
                "status completed is not the run's, and by infrastructure fail oracle_execution",
                "status completed is a success, and there fail oracle_execution",
            ],
        ),
    ],
)
def test_executable_evidence_that_cannot_have_happened_is_refused(edit: Edit, messages: list[str] | None) -> None:
    problems = told(edit(RAN))
    assert all(one.startswith("eval_executable_evidence_mismatch: ") for one in problems)
    if messages is not None:
        assert problems == [f"eval_executable_evidence_mismatch: {one}" for one in messages]


def test_oracle_state_failure_before_the_end_of_the_talk_is_refused() -> None:
    evidence = replace(executed({0: ANSWERS["wrong_value"]}), status="oracle_state_failed", state_known=False)
    assert told(evidence) == [
        "eval_executable_evidence_mismatch: status is oracle_state_failed of an episode that had not completed"
    ]


@pytest.mark.parametrize("status", ["oracle_call_failed", "oracle_result_malformed"])
def test_status_of_a_broken_call_needs_that_broken_call(status: EpisodeStatus) -> None:
    evidence = executed(told=Told(broken={0: {"status": "timeout"}}, stops={0: "oracle_timeout"}))
    assert told(replace(evidence, status=status)) == [
        f"eval_executable_evidence_mismatch: status is {status}, which the last turn does not show"
    ]


def test_assertions_may_end_with_the_one_that_broke() -> None:
    closing = assertions("passed", "infrastructure_error", "passed")
    cut_short = {**closing, "assertions": closing["assertions"][:2], "status": "assertion_infrastructure_failed"}
    score = scored(executed(told=Told(closing=cut_short)))
    assert score.failures[0].code == "episode.assertion_infrastructure_failed"


# --- gates against status -------------------------------------------------------------------------------------------


def gates_of(**classes: str) -> list[Gate]:
    """The gates of a good trace, some failed with a class."""
    return [
        replace(one, outcome="failed", failure_class=classes[one.name]) if one.name in classes else one  # type: ignore[arg-type]
        for one in scored(GOOD).gates
    ]


@pytest.mark.parametrize(
    ("status", "classes", "message"),
    [
        (
            "completed",
            {"arguments": "infrastructure"},
            "status completed is not the run's, and by infrastructure fail arguments",
        ),
        ("completed", {"arguments": "candidate"}, "status completed is a success, and there fail arguments"),
        (
            "candidate_mismatch",
            {"arguments": "candidate", "trace_completion": "infrastructure"},
            "status candidate_mismatch is not the run's, and by infrastructure fail trace_completion",
        ),
        (
            "candidate_mismatch",
            {},
            "status candidate_mismatch is the candidate's, and no gate fails by the candidate",
        ),
        (
            "candidate_call_failed",
            {"trace_completion": "candidate"},
            "status candidate_call_failed is the run's, and no gate fails by infrastructure",
        ),
    ],
)
def test_gates_that_tell_of_another_end_than_the_status_are_refused(
    status: EpisodeStatus, classes: dict[str, str], message: str
) -> None:
    problems = refused(lambda: require_gates(replace(GOOD, status=status), gates_of(**classes), live=False))
    assert message in [one.message for one in problems]


def test_way_of_its_own_may_complete_without_the_gold_calls() -> None:
    scoring = replace(SCORING, executable_continuation="live", task_success="assertions_only")
    of = script()
    told_results = Told(closing=assertions("passed"))
    evidence = executed({0: ANSWERS["declared_tool"]}, told_results, of=of, scoring=scoring)
    assert evidence.status == "completed"
    score = scored(evidence, of=of, scoring=scoring)
    assert [one.name for one in score.gates if one.outcome == "failed"][:2] == ["tool_selection", "arguments"]
    assert {one.failure_class for one in score.gates} == {"none", "candidate"}
    assert score.task_success
