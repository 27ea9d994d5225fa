"""Results by kind of task: every value of every dimension, with and without what the run stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bfcl.canonical import readable_json
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.score.breakdowns import DIMENSIONS, Kinds, breakdowns, clusters, grouped, kinds_of
from bfcl.evaluate.score.intervals import cluster_bootstrap, wilson
from tests.evaluate.score.episodes import ANSWERS, scored, traced
from tests.exports.staged import decoded, row

GOOD, BAD, STOPPED = (
    scored(traced({} if answer is None else {0: answer}))
    for answer in (None, ANSWERS["permuted"], ANSWERS["unreachable"])
)


def kinds(**edits: Any) -> Kinds:
    plain: dict[str, Any] = {
        "category": "single",
        "difficulty": "easy",
        "turn_policy": "answer",
        "language": "en",
        "call_order": "any",
        "template_id": "t1",
    }
    return Kinds(**{**plain, **edits})


SCORES: list[TaskScore] = [
    replace(score, task_id=f"task-{place}") for place, score in enumerate([GOOD, GOOD, BAD, STOPPED, GOOD])
]
KINDS = {
    "task-0": kinds(),
    "task-1": kinds(category="multi", difficulty=None),
    "task-2": kinds(template_id="t2"),
    "task-3": kinds(template_id="t2", difficulty="hard"),
    "task-4": kinds(template_id="t0"),
}


def told() -> dict[str, Any]:
    whole: Any = breakdowns({"small": SCORES}, KINDS)
    return dict(whole)


def test_groups_count_tasks_successes_and_stops_and_label_the_rate_without_them() -> None:
    (entry,) = told()["candidates"]
    by_template = {group["value"]: group for group in entry["by"]["template_id"]}
    assert list(by_template) == ["t0", "t1", "t2"]
    interval, own = wilson(0, 2), wilson(0, 1)
    assert interval is not None
    assert own is not None
    assert by_template["t2"] == {
        "value": "t2",
        "tasks": 2,
        "successes": 0,
        "non_candidate_stops": 1,
        "success_rate": 0.0,
        "interval": {"low": interval.low, "high": interval.high},
        "excluding_non_candidate_stops": {
            "tasks": 1,
            "successes": 0,
            "success_rate": 0.0,
            "interval": {"low": own.low, "high": own.high},
        },
    }


def test_whole_has_a_wilson_interval_and_one_clustered_by_template() -> None:
    (entry,) = told()["candidates"]
    overall = entry["overall"]
    assert (overall["tasks"], overall["successes"], overall["non_candidate_stops"]) == (5, 3, 1)
    assert overall["excluding_non_candidate_stops"]["success_rate"] == 0.75
    assert clusters(SCORES, KINDS) == [(1, 1), (2, 2), (0, 2)]
    assert overall["clustered_by_template_id"] == cluster_bootstrap([(1, 1), (2, 2), (0, 2)]).to_json()


def test_every_dimension_partitions_the_tasks() -> None:
    (entry,) = told()["candidates"]
    assert tuple(entry["by"]) == DIMENSIONS
    for groups in entry["by"].values():
        assert sum(group["tasks"] for group in groups) == 5
        assert sum(group["successes"] for group in groups) == 3


def test_value_that_rows_leave_open_is_null_and_stands_first() -> None:
    assert [(value, len(group)) for value, group in grouped(SCORES, KINDS, "difficulty")] == [
        (None, 1),
        ("easy", 3),
        ("hard", 1),
    ]


def test_candidates_stand_by_alias_and_bytes_do_not_depend_on_their_order() -> None:
    one = breakdowns({"b": SCORES, "a": SCORES}, KINDS, resamples=50)
    other = breakdowns({"a": SCORES, "b": SCORES}, KINDS, resamples=50)
    assert readable_json(one) == readable_json(other)
    entries: Any = one["candidates"]
    assert [entry["alias"] for entry in entries] == ["a", "b"]


def test_group_of_stops_alone_has_no_rate_without_them() -> None:
    entry: Any = breakdowns({"small": [SCORES[3]]}, KINDS)["candidates"]
    left = entry[0]["overall"]["excluding_non_candidate_stops"]
    assert left == {"tasks": 0, "successes": 0, "success_rate": None, "interval": None}


def test_task_without_kinds_is_an_error() -> None:
    with pytest.raises(KeyError):
        breakdowns({"small": [replace(GOOD, task_id="other")]}, KINDS)


def test_kinds_are_those_of_the_published_row() -> None:
    published = decoded(row())
    found = kinds_of(published)
    assert (found.category, found.difficulty) == (
        published.published["category"],
        published.published["difficulty"],
    )
    assert found.template_id == published.published["template_id"]
    assert found.language == published.metadata["language"]
    assert kinds_of(replace(published, metadata={})).language is None
