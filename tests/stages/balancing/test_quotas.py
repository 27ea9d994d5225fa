"""Shares as exact numbers, and largest remainders."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.stages.balancing.quotas import apportioned, exact, exact_mix

MIXES = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 20), min_size=1).filter(
    lambda mix: sum(mix.values()) > 0
)


def shares(mix: dict[str, int]) -> dict[str, Fraction]:
    return {bucket: Fraction(part, sum(mix.values())) for bucket, part in mix.items()}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (0.7, Fraction(7, 10)),
        (1.0, Fraction(1)),
        (0.2345, Fraction(469, 2000)),
        (0.333333333, Fraction(1, 3)),
        (0.6666666667, Fraction(2, 3)),
        (0.33333, Fraction(33333, 100000)),
        (0.12345678, Fraction(12345678, 10**8)),
    ],
)
def test_exact_is_the_number_meant(written: float, meant: Fraction) -> None:
    assert exact(written) == meant


def test_apportioned_gives_leftovers_to_the_largest_fraction_then_to_the_smaller_key() -> None:
    assert apportioned(exact_mix({"hard": 0.25, "easy": 0.5, "medium": 0.25}), 10) == {
        "easy": 5,
        "hard": 3,
        "medium": 2,
    }
    assert apportioned(exact_mix({"a": 0.1, "b": 0.15, "c": 0.75}), 7) == {"a": 1, "b": 1, "c": 5}
    assert apportioned(exact_mix({"z": 0.333333333, "y": 0.333333333, "x": 0.333333333}), 4) == {"x": 2, "y": 1, "z": 1}


def test_apportioned_returns_buckets_in_key_order() -> None:
    assert list(apportioned(exact_mix({"b": 0.5, "a": 0.5}), 3)) == ["a", "b"]


def test_apportioned_of_no_mix_is_nothing() -> None:
    assert apportioned({}, 5) == {}


@given(MIXES, st.integers(0, 500))
def test_apportioned_sums_to_the_total_and_stays_within_one_of_the_share(mix: dict[str, int], total: int) -> None:
    exactly = shares(mix)
    rows = apportioned(exactly, total)
    assert sum(rows.values()) == total
    assert all(abs(rows[bucket] - exactly[bucket] * total) < 1 for bucket in mix)


@given(MIXES, st.integers(0, 500))
def test_apportioned_gives_a_larger_share_no_fewer_rows(mix: dict[str, int], total: int) -> None:
    rows = apportioned(shares(mix), total)
    assert all(rows[one] >= rows[other] for one in mix for other in mix if mix[one] > mix[other])


@given(MIXES, st.integers(0, 500))
def test_apportioned_breaks_ties_by_key(mix: dict[str, int], total: int) -> None:
    rows = apportioned(shares(mix), total)
    assert all(rows[one] >= rows[other] for one in mix for other in mix if mix[one] == mix[other] and one < other)
