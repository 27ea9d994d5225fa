"""Pairs of two candidates: tables, tests, intervals, flips."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from bfcl.evaluate.after.paired import (
    Pair,
    Tries,
    difference_interval,
    flips,
    group_tests,
    mean_difference,
    tally,
    untested_groups,
)
from bfcl.evaluate.score.breakdowns import Kinds
from bfcl.evaluate.score.intervals import SEED


def pair(
    name: str, first: tuple[int, int], second: tuple[int, int], *, template: str = "t", category: str = "c"
) -> Pair:
    return Pair(
        task_id=name,
        kinds=Kinds(
            category=category,
            difficulty=None,
            turn_policy="single",
            language="en",
            call_order="any",
            template_id=template,
        ),
        first=Tries(successes=first[0], trials=first[1]),
        second=Tries(successes=second[0], trials=second[1]),
    )


YES, NO = (1, 1), (0, 1)
TASKS = [pair("a", YES, NO, template="x"), pair("b", YES, YES, template="x"), pair("c", NO, NO, template="y")]


def test_tally_counts_a_two_by_two_table_when_every_task_is_played_once() -> None:
    found = tally([*TASKS, pair("d", NO, YES)])
    assert found.to_json() == {"both": 1, "only_first": 1, "only_second": 1, "neither": 1}
    assert found.p_value == 1.0


def test_tally_holds_rates_against_each_other_when_tasks_are_repeated() -> None:
    found = tally([pair("a", (2, 3), (1, 3)), pair("b", (1, 2), (2, 4)), pair("c", (3, 3), (2, 2))])
    assert found.to_json() == {"both": 1, "only_first": 1, "only_second": 0, "neither": 0, "equal_otherwise": 1}


def test_p_value_is_the_exact_binomial_one() -> None:
    found = tally([pair(str(number), YES, NO) for number in range(6)])
    assert found.p_value == 2 / 2**6


def test_difference_interval_clusters_by_template_and_records_the_seed() -> None:
    found = difference_interval(TASKS).to_json()
    assert (found["clusters"], found["seed"], found["resamples"]) == (2, SEED, 10_000)
    assert found["interval"] == {"low": 0.0, "high": 0.5}
    assert mean_difference(TASKS) == Fraction(1, 3)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=8
    )
)
def test_difference_interval_of_one_template_each_holds_the_mean(drawn: list[tuple[int, int, int, int]]) -> None:
    pairs = [
        pair(str(place), (min(a, n), n), (min(b, m), m), template=str(place))
        for place, (a, b, n, m) in enumerate(drawn)
    ]
    interval = difference_interval(pairs, resamples=200).interval
    differences = [float(one.difference) for one in pairs]
    if len(pairs) == 1:
        assert interval is None
    else:
        assert interval is not None
        assert min(differences) - 1e-9 <= interval.low <= interval.high <= max(differences) + 1e-9


def test_group_tests_adjust_over_the_dimensions_that_part_the_tasks() -> None:
    pairs = [
        pair(str(number), YES, NO, category="c" if number % 2 else "d", template=f"t{number}") for number in range(12)
    ]
    found = group_tests(pairs)
    assert [(one.dimension, one.value, one.tasks) for one in found] == [("category", "c", 6), ("category", "d", 6)]
    # Not times sixteen: neither twelve templates nor four dimensions of one value weaken these two.
    assert [one.adjusted for one in found] == [2 * (2 / 2**6)] * 2
    assert found[0].to_json() == {
        "dimension": "category",
        "value": "c",
        "tasks": 6,
        "table": {"both": 0, "only_first": 6, "only_second": 0, "neither": 0},
        "difference": 1.0,
        "p_value": 2 / 2**6,
        "p_value_holm": 4 / 2**6,
    }


def test_untested_groups_are_single_templates_and_what_all_tasks_are_of() -> None:
    pairs = [pair("a", YES, NO, template="x"), pair("b", YES, YES, template="y", category="d")]
    found = untested_groups(pairs)
    assert [(one.dimension, one.value, one.tasks) for one in found] == [
        ("difficulty", None, 2),
        ("turn_policy", "single", 2),
        ("language", "en", 2),
        ("call_order", "any", 2),
        ("template_id", "x", 1),
        ("template_id", "y", 1),
    ]
    assert found[4].to_json() == {
        "dimension": "template_id",
        "value": "x",
        "tasks": 1,
        "table": {"both": 0, "only_first": 1, "only_second": 0, "neither": 0},
        "difference": 1.0,
    }


def test_group_tests_of_tasks_that_are_all_alike_are_none() -> None:
    pairs = [pair("a", YES, NO), pair("b", YES, NO)]
    assert group_tests(pairs) == ()
    assert len(untested_groups(pairs)) == 6


def test_flips_list_tasks_each_way_in_order() -> None:
    assert flips([*TASKS, pair("d", NO, YES, template="y")]) == {
        "only_first": [{"task_id": "a", "template_id": "x"}],
        "only_second": [{"task_id": "d", "template_id": "y"}],
    }


def test_flips_tell_trials_when_a_task_was_repeated() -> None:
    assert flips([pair("a", (2, 3), (1, 3))]) == {
        "only_first": [
            {
                "task_id": "a",
                "template_id": "t",
                "first": {"successes": 2, "trials": 3},
                "second": {"successes": 1, "trials": 3},
            }
        ],
        "only_second": [],
    }
