"""Successes among tasks: their share, and how sure it is."""

from __future__ import annotations

from bfcl.evaluate.score.intervals import wilson
from bfcl.evaluate.score.rates import Rate, rate
from tests.evaluate.score.episodes import ANSWERS, scored, traced

GOOD, BAD, STOPPED = (
    scored(traced({} if answer is None else {0: answer}))
    for answer in (None, ANSWERS["permuted"], ANSWERS["unreachable"])
)


def test_rate_counts_a_stopped_task_as_no_success() -> None:
    assert STOPPED.non_candidate_stop
    assert rate([GOOD, BAD, STOPPED, GOOD]) == Rate(successes=2, tasks=4)


def test_rate_tells_its_share_and_wilsons_interval() -> None:
    interval = wilson(1, 4)
    assert interval is not None
    told = Rate(successes=1, tasks=4)
    assert (told.share, told.interval) == (0.25, interval)
    assert told.to_json() == {"successes": 1, "tasks": 4, "success_rate": 0.25, "interval": interval.to_json()}


def test_rate_of_nothing_has_neither_share_nor_interval() -> None:
    assert rate([]) == Rate(successes=0, tasks=0)
    assert rate([]).to_json() == {"successes": 0, "tasks": 0, "success_rate": None, "interval": None}
