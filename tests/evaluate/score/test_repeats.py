"""Steadiness over trials: pass^k, pass@k and flips by hand, and trials that the run stopped."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.evaluate.records import Count, TaskScore
from bfcl.evaluate.score.repeats import repeated
from tests.evaluate.score.episodes import ANSWERS, scored, traced

GOOD, PERMUTED, STOPPED = (
    scored(traced({} if answer is None else {0: answer}))
    for answer in (None, ANSWERS["permuted"], ANSWERS["unreachable"])
)


def played(task_id: str, *trials: TaskScore) -> list[TaskScore]:
    return [replace(score, task_id=task_id, trial=trial) for trial, score in enumerate(trials)]


def test_pass_hat_k_and_pass_at_k_are_means_over_tasks() -> None:
    scores = [
        *played("a", GOOD, GOOD, PERMUTED, GOOD),
        *played("b", PERMUTED, GOOD, PERMUTED, PERMUTED),
    ]
    found = repeated(scores, trials=4)
    # a: 3 of 4, b: 1 of 4. All of 2: 3/6 and 0/6. Any of 2: 1 - 0/6 and 1 - 3/6.
    assert [(one.k, one.every, one.some) for one in found.passes] == [
        (1, Fraction(1, 2), Fraction(1, 2)),
        (2, Fraction(1, 4), Fraction(3, 4)),
        (3, Fraction(1, 8), Fraction(7, 8)),
        (4, Fraction(0), Fraction(1)),
    ]
    assert [one.tasks for one in found.passes] == [2, 2, 2, 2]


def test_flips_count_tasks_that_went_both_ways_where_a_gate_judged_twice() -> None:
    scores = [
        *played("a", GOOD, PERMUTED),
        *played("b", GOOD, GOOD),
        *played("c", PERMUTED, PERMUTED),
    ]
    flips = repeated(scores, trials=2).flips
    assert flips["task_success"] == Count(numerator=1, denominator=3)
    assert flips["call_ordering"] == Count(numerator=1, denominator=3)
    assert flips["arguments"] == Count(numerator=0, denominator=3)
    # The text turn was reached twice in one task only.
    assert flips["text_turn"] == Count(numerator=0, denominator=1)


def test_trial_that_the_run_stopped_is_not_counted() -> None:
    found = repeated([*played("a", GOOD, STOPPED), *played("b", GOOD, PERMUTED)], trials=2)
    assert found.uncounted == 1
    first, second = found.passes
    assert (first.tasks, first.every) == (2, Fraction(3, 4))
    assert (second.tasks, second.every, second.some) == (1, Fraction(0), Fraction(1))
    assert found.flips["call_grouping"] == Count(numerator=0, denominator=1)


def test_report_has_null_where_no_task_has_so_many_trials() -> None:
    told = repeated(played("a", GOOD, STOPPED), trials=2).to_json()
    assert told["trials"] == 2
    assert told["uncounted_trials"] == 1
    assert told["passes"] == [
        {"k": 1, "tasks": 1, "pass_hat_k": 1.0, "pass_at_k": 1.0},
        {"k": 2, "tasks": 0, "pass_hat_k": None, "pass_at_k": None},
    ]
    assert told["flip_rates"]["task_success"] == {  # type: ignore[call-overload, index]
        "numerator": 0,
        "denominator": 0,
        "value": None,
        "not_applicable_reason": "metric.no_applicable_task",
    }


@pytest.mark.parametrize("trial", [0, 2, -1])
def test_trial_scored_twice_or_never_asked_for_is_refused(trial: int) -> None:
    scores = [*played("a", GOOD, GOOD), replace(GOOD, task_id="a", trial=trial)]
    with pytest.raises(ValueError, match=f"trial {trial} of a is scored twice or beyond 2 trials"):
        repeated(scores, trials=2)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6))
def test_pass_rates_are_those_of_every_way_to_draw_k_trials(tasks: list[list[bool]]) -> None:
    scores = [
        score
        for place, task in enumerate(tasks)
        for score in played(f"t{place}", *(GOOD if passed else PERMUTED for passed in task))
    ]
    found = repeated(scores, trials=3)
    rates = [one.every for one in found.passes]
    assert rates == [Fraction(sum(comb(sum(task), k) for task in tasks), comb(3, k) * len(tasks)) for k in (1, 2, 3)]
    assert found.passes[0].every == found.passes[0].some
    assert all(one.every is not None and one.some is not None and one.every <= one.some for one in found.passes)
