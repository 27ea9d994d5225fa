"""Intervals and tests against values from the literature, by hand, and laws that hold for any counts."""

from __future__ import annotations

from fractions import Fraction
from math import comb, isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.evaluate.score.intervals import (
    Interval,
    _binomial,
    chance_all,
    cluster_bootstrap,
    holm,
    mcnemar_exact,
    wilson,
)


def rounded(interval: Interval | None, digits: int = 4) -> tuple[float, float]:
    assert interval is not None
    return round(interval.low, digits), round(interval.high, digits)


# --- Wilson ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "n", "expected"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
        (29, 29, (0.8830, 1.0)),
    ],
)
def test_wilson_gives_published_values(successes: int, n: int, expected: tuple[float, float]) -> None:
    assert rounded(wilson(successes, n)) == expected


def test_wilson_of_nothing_is_none_and_of_impossible_counts_an_error() -> None:
    assert wilson(0, 0) is None
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson(3, 2)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_mirrors(counts: tuple[int, int]) -> None:
    successes, n = counts
    one, other = wilson(successes, n), wilson(n - successes, n)
    assert one is not None
    assert other is not None
    assert 0.0 <= one.low <= successes / n <= one.high <= 1.0
    assert isclose(one.low, 1 - other.high, abs_tol=1e-12)


# --- McNemar, Holm --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (0, 5, 0.0625),
        (1, 9, 22 / 1024),
        (10, 2, 158 / 4096),
        # Agresti, Categorical Data Analysis: 86 and 150 changed their mind.
        (86, 150, 3.7e-05),
    ],
)
def test_mcnemar_gives_worked_values(first: int, second: int, expected: float) -> None:
    assert isclose(mcnemar_exact(first, second), expected, rel_tol=0.02 if expected < 1e-3 else 1e-12)
    assert mcnemar_exact(second, first) == mcnemar_exact(first, second)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="-1 and 3 discordant tasks"):
        mcnemar_exact(-1, 3)


@given(st.integers(0, 200), st.integers(0, 200))
def test_mcnemar_is_twice_the_smaller_tail(first: int, second: int) -> None:
    n = first + second
    tail = sum(comb(n, k) for k in range(min(first, second) + 1))
    assert mcnemar_exact(first, second) == float(min(Fraction(1), Fraction(2 * tail, 2**n)))


def test_mcnemar_of_many_tasks_neither_overflows_nor_vanishes() -> None:
    assert 0 < mcnemar_exact(400, 900) < 1e-40


def test_holm_gives_worked_values() -> None:
    # 0.01, 0.04, 0.03, 0.005 of four: 4 x 0.005, 3 x 0.01, 2 x 0.03, then never below the one before.
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert list(adjusted) == ["a", "b", "c", "d"]
    assert {key: round(value, 12) for key, value in adjusted.items()} == {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    assert holm({"a": 0.7, "b": 0.6}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values: dict[str, float]) -> None:
    adjusted = holm(p_values)
    assert all(p_values[key] <= adjusted[key] <= 1.0 for key in p_values)
    ascending = sorted(p_values, key=lambda key: p_values[key])
    assert [adjusted[key] for key in ascending] == sorted(adjusted.values())


def test_chance_that_all_succeed_counts_subsets() -> None:
    assert chance_all(3, 5, 2) == Fraction(3, 10)
    assert chance_all(1, 5, 2) == 0
    assert chance_all(5, 5, 5) == 1


# --- clustered bootstrap --------------------------------------------------------------------------------------------


def test_bootstrap_of_single_tasks_agrees_with_the_binomial() -> None:
    # 70 of 100: standard error 0.0458, hence about 0.61 to 0.79.
    found = cluster_bootstrap([(1, 1)] * 70 + [(0, 1)] * 30)
    assert found.interval == Interval(low=0.61, high=0.79)
    assert (found.clusters, found.resamples, found.seed) == (100, 10_000, 20_260_101)


def test_bootstrap_over_whole_clusters_is_wider_than_over_their_tasks() -> None:
    # All or nothing by cluster: ten templates are worth ten tasks, not a hundred.
    whole = cluster_bootstrap([(10, 10)] * 7 + [(0, 10)] * 3)
    assert whole.interval == cluster_bootstrap([(1, 1)] * 7 + [(0, 1)] * 3).interval
    assert rounded(whole.interval, 1) == (0.4, 1.0)


def test_bootstrap_repeats_itself_and_another_seed_draws_otherwise() -> None:
    clusters = [(place % 4, 3 + place % 5) for place in range(40)]
    first = cluster_bootstrap(clusters, seed=7, resamples=400)
    assert first == cluster_bootstrap(list(reversed(clusters)), seed=7, resamples=400)
    assert first.interval != cluster_bootstrap(clusters, seed=8, resamples=400).interval
    assert first.interval == Interval(low=0.22009569377990432, high=0.3776595744680851)


def test_bootstrap_of_a_difference_may_be_negative() -> None:
    found = cluster_bootstrap([(-2, 5), (1, 5), (-3, 5), (0, 5)] * 5)
    assert found.interval is not None
    assert found.interval.low < -0.2 < found.interval.high < 0


def test_bootstrap_of_one_cluster_has_no_interval() -> None:
    assert cluster_bootstrap([(3, 9)]).to_json() == {
        "interval": None,
        "clusters": 1,
        "resamples": 10_000,
        "seed": 20_260_101,
        "method": "percentile bootstrap over clusters",
    }
    assert cluster_bootstrap([]).interval is None


@pytest.mark.parametrize(("clusters", "resamples"), [([(0, 0), (1, 1)], 10), ([(1, 1), (0, 1)], 0)])
def test_bootstrap_refuses_empty_clusters_and_no_resamples(clusters: list[tuple[int, int]], resamples: int) -> None:
    with pytest.raises(ValueError, match="every cluster needs observations, and the bootstrap a resample"):
        cluster_bootstrap(clusters, resamples=resamples)


@given(st.lists(st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=12))
def test_bootstrap_stays_between_the_worst_and_the_best_cluster(clusters: list[tuple[int, int]]) -> None:
    found = cluster_bootstrap(clusters, resamples=60).interval
    assert found is not None
    rates = [numerator / denominator for numerator, denominator in clusters]
    assert min(rates) - 1e-12 <= found.low <= found.high <= max(rates) + 1e-12


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 30), st.integers(1, 30))
def test_binomial_table_is_the_binomial_distribution(n: int, weight: int, rest: int) -> None:
    table = _binomial(n, weight, weight + rest)
    whole = (weight + rest) ** n
    for place in range(0, len(table.cumulative), 7):
        below = sum(comb(n, k) * weight**k * rest ** (n - k) for k in range(table.first + place + 1))
        assert isclose(table.cumulative[place], below / whole, rel_tol=1e-9, abs_tol=1e-12)
