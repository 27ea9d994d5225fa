"""A candidate's metrics over the plan's tasks, and the scores that are none of the plan's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.digest import sha256_json, sha256_of
from bfcl.evaluate.records import Aggregate, Count, TaskScore
from bfcl.evaluate.score.aggregate import Identities, aggregate, aggregate_hash, aggregate_json
from bfcl.evaluate.score.episode import score_hash
from bfcl.evaluate.score.taxonomy import METRICS
from bfcl.evaluate.source.plan import CandidateTasks
from tests.evaluate.driven import SCORING
from tests.evaluate.refusals import refused
from tests.evaluate.score.episodes import ANSWERS, Told, assertions, executed, scored, traced

IDENTITIES = Identities(
    plan_identity=sha256_of(b"plan"),
    scoring_policy_hash=SCORING.policy_hash,
    scoring_contract_hash=SCORING.contract_hash,
    oracle_hash=None,
)
CANONICAL = "huggingface:org/small@1"


def of_task(score: TaskScore, task_id: str, **edits: Any) -> TaskScore:
    """The score as that of another task, hashed anew."""
    renamed = replace(score, task_id=task_id, **edits)
    return replace(renamed, score_hash=score_hash(renamed, SCORING.policy_hash))


SCORES = [
    of_task(scored(traced()), "t-1"),
    of_task(scored(traced({0: ANSWERS["wrong_value"]})), "t-2"),
    of_task(scored(traced({0: "retry_exhausted"})), "t-3"),
]
IDS = ["t-1", "t-2", "t-3"]


def planned(ids: list[str], *, canonical_id: str = CANONICAL) -> CandidateTasks:
    return CandidateTasks(
        alias="small", canonical_id=canonical_id, task_ids=tuple(ids), task_ids_hash=sha256_json(ids), excluded=0
    )


def added(scores: list[TaskScore], ids: list[str] | None = None, **edits: Any) -> Aggregate:
    tasks = planned(IDS if ids is None else ids, canonical_id=edits.pop("canonical_id", CANONICAL))
    given_: dict[str, Any] = {"tasks": tasks, "scope": "trace", "identities": IDENTITIES}
    return aggregate(scores, **{**given_, **edits})


def told(scores: list[TaskScore], ids: list[str] | None = None, **edits: Any) -> list[str]:
    problems = refused(lambda: added(scores, ids, **edits))
    fix = "\n  fix: evaluate into a new output directory; these scores are not those of the plan"
    assert all(str(one) == f"{one.code}: small: {one.message}{fix}" for one in problems)
    return [f"{one.code}: {one.message}" for one in problems]


def test_trace_aggregate_has_rates_over_the_tasks_a_gate_applies_to() -> None:
    whole = added(SCORES)
    assert (whole.task_count, whole.successful_tasks, whole.non_candidate_stops) == (3, 1, 1)
    assert tuple(whole.metrics) == METRICS["trace"]
    assert {name: (one.numerator, one.denominator) for name, one in whole.metrics.items()} == {
        "tool_selection_pass_rate": (2, 3),
        "arguments_pass_rate": (1, 3),
        "schema_valid_pass_rate": (2, 2),
        "call_grouping_pass_rate": (2, 3),
        "call_ordering_pass_rate": (2, 2),
        "text_turn_pass_rate": (1, 1),
        "trace_completion_pass_rate": (1, 3),
        "task_success_rate": (1, 3),
    }


def test_executable_aggregate_sums_counts_of_calls_and_assertions() -> None:
    good = Told(closing=assertions("passed", "failed", "passed"))
    scores = [
        of_task(scored(executed(told=good)), "t-1"),
        of_task(scored(executed({0: ANSWERS["too_few"]}, Told(closing=assertions("not_applicable")))), "t-2"),
    ]
    whole = added(scores, ["t-1", "t-2"], scope="trace_and_executable")
    assert tuple(whole.metrics) == METRICS["executable"]
    assert whole.metrics["argument_accuracy"] == Count(numerator=3, denominator=4)
    assert whole.metrics["tool_execution_success_rate"] == Count(numerator=3, denominator=3)
    assert whole.metrics["assertion_success_rate"] == Count(numerator=2, denominator=3)
    assert whole.metrics["final_answer_success_rate"].reason == "metric.no_final_answer_assertion"


def test_reasons_that_differ_become_that_no_task_applies() -> None:
    scores = [
        of_task(scored(executed()), "t-1"),
        of_task(scored(executed(told=Told(closing=assertions("not_applicable")))), "t-2"),
    ]
    whole = added(scores, ["t-1", "t-2"], scope="trace_and_executable")
    nothing = Count(numerator=0, denominator=0, reason="metric.no_applicable_task")
    assert whole.metrics["state_match_rate"] == nothing
    assert whole.metrics["final_answer_success_rate"].reason == "metric.no_final_answer_assertion"


def test_report_entry_has_exactly_its_keys() -> None:
    whole = added(SCORES)
    entry = aggregate_json(whole)
    assert sorted(entry) == [
        "aggregate_hash",
        "alias",
        "canonical_id",
        "metrics",
        "non_candidate_stops",
        "scope",
        "successful_tasks",
        "task_count",
    ]
    assert entry["metrics"]["task_success_rate"] == {  # type: ignore[call-overload, index]
        "numerator": 1,
        "denominator": 3,
        "value": 1 / 3,
        "not_applicable_reason": None,
    }


def test_hash_covers_scores_and_everything_they_were_made_under() -> None:
    whole = added(SCORES)
    assert whole.aggregate_hash == aggregate_hash(whole, SCORES, IDENTITIES)
    for edit in ("plan_identity", "scoring_contract_hash", "oracle_hash"):
        identities = replace(IDENTITIES, **{edit: sha256_of(b"other")})
        assert added(SCORES, identities=identities).aggregate_hash != whole.aggregate_hash
    assert added(SCORES, canonical_id="other").aggregate_hash != whole.aggregate_hash
    others = [of_task(score, score.task_id, trial=1) for score in SCORES]
    assert added(others).aggregate_hash != whole.aggregate_hash


@given(st.permutations(range(3)))
def test_scores_in_another_order_than_the_plans_are_refused(order: list[int]) -> None:
    scores = [SCORES[place] for place in order]
    if order == [0, 1, 2]:
        assert added(scores) == added(SCORES)
    else:
        assert told(scores) == [
            "eval_trace_aggregation_invalid: the scores stand in another order than the plan's tasks"
        ]


@pytest.mark.parametrize(
    ("scores", "ids", "messages"),
    [
        (SCORES[:2], IDS, ["1 tasks have no score: t-3"]),
        (SCORES, IDS[:2], ["1 tasks are not planned: t-3"]),
        ([*SCORES, SCORES[0]], IDS, ["1 tasks are scored twice: t-1"]),
        ([], [f"t-{place}" for place in range(7)], ["7 tasks have no score: t-0, t-1, t-2, t-3, t-4 and 2 more"]),
        (
            [SCORES[0], of_task(SCORES[1], "t-2", candidate_alias="large"), of_task(SCORES[2], "t-3", trial=1)],
            IDS,
            ["1 scores are another candidate's: t-2", "the scores are of several trials: 0, 1"],
        ),
        (
            [SCORES[0], SCORES[1], replace(SCORES[2], task_success=True)],
            IDS,
            ["1 scores were made under another policy or changed since: t-3"],
        ),
    ],
)
def test_scores_that_are_not_the_plans_are_refused(
    scores: list[TaskScore], ids: list[str], messages: list[str]
) -> None:
    assert told(scores, ids) == [f"eval_trace_aggregation_invalid: {message}" for message in messages]


def test_scores_of_another_policy_are_refused() -> None:
    other = replace(IDENTITIES, scoring_policy_hash=sha256_of(b"other"))
    assert told(SCORES, identities=other) == [
        "eval_trace_aggregation_invalid: 3 scores were made under another policy or changed since: t-1, t-2, t-3"
    ]


def test_trace_scores_never_stand_in_an_executable_aggregate() -> None:
    assert told(SCORES, scope="trace_and_executable") == [
        "eval_executable_aggregation_invalid: 3 scores are not executable scores: t-1, t-2, t-3"
    ]
