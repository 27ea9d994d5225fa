"""Candidates of a page in pairs: the same rule as `eval-compare`, p adjusted over the page."""

from __future__ import annotations

import dataclasses

import pytest

from bfcl.canonical import Json
from bfcl.evaluate.page.comparison import comparisons
from bfcl.evaluate.page.data import PageData
from bfcl.evaluate.score.intervals import mcnemar_exact
from tests.evaluate.page.pages import entrant, evaluation, page_data, task_id
from tests.evaluate.score.episodes import ANSWERS

WRONG = ANSWERS["wrong_value"]


def test_pairs_are_compared_task_by_task_with_p_adjusted_over_all_of_them() -> None:
    data = page_data({"a": [None] * 8, "b": [WRONG] * 6 + [None] * 2, "c": [WRONG, *[None] * 7]})
    found = comparisons(data.labelled())
    assert [(one.first, one.second) for one in found.made] == [("a", "b"), ("a", "c"), ("b", "c")]
    first = found.made[0]
    assert (first.tally.both, first.tally.only_first, first.tally.only_second, first.tally.neither) == (2, 6, 0, 0)
    assert (first.difference, first.tally.p_value) == (0.75, mcnemar_exact(6, 0))
    assert first.adjusted == pytest.approx(3 * mcnemar_exact(6, 0))
    assert first.better_first == tuple(map(task_id, range(6)))
    assert first.better_second == ()
    assert found.made[2].better_second == tuple(map(task_id, range(1, 6)))
    assert (found.refused, found.more) == ((), 0)


def test_pairs_without_room_are_counted() -> None:
    data = page_data({"a": [None], "b": [None], "c": [None]})
    found = comparisons(data.labelled(), limit=2)
    assert (len(found.made), found.more) == (2, 1)


@pytest.mark.parametrize(
    ("manifest", "differs"),
    [
        ({"source_identity": "sha256:other"}, "source_identity"),
        ({"scoring_policy_hash": "sha256:other", "eval_scope": "x"}, "scoring_policy_hash, eval_scope"),
        ({"limits": {"max_turns": 3, "max_parallel_tasks": 4}}, "limits.max_turns"),
    ],
    ids=["benchmark", "policy", "limits"],
)
def test_candidates_that_were_not_measured_alike_are_not_compared(manifest: dict[str, Json], differs: str) -> None:
    one = entrant("a", [None, WRONG])
    data = PageData(evaluations=(evaluation("one", [one]), evaluation("two", [one], **manifest)))
    found = comparisons(data.labelled())
    assert (found.made, found.refused) == ((), (("one:a", "two:a", differs),))


def test_speed_is_no_reason_not_to_compare() -> None:
    one = entrant("a", [None, WRONG])
    faster: dict[str, Json] = {"limits": {"max_turns": 12, "max_parallel_tasks": 64}}
    data = PageData(evaluations=(evaluation("one", [one]), evaluation("two", [one], **faster)))
    assert comparisons(data.labelled()).refused == ()


def test_candidates_without_a_counted_task_in_common_are_not_compared() -> None:
    one = entrant("a", [None, WRONG])
    stopped = dataclasses.replace(one, tries={})
    data = PageData(evaluations=(evaluation("one", [one]), evaluation("two", [stopped])))
    assert comparisons(data.labelled()).refused == (("one:a", "two:a", "tasks with a trial that counts"),)
