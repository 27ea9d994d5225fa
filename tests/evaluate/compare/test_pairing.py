"""A pairing is as large as any, and the first of those by gold order and then by the order of the reply."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from bfcl.evaluate.compare.pairing import pair

FITS = st.integers(0, 5).flatmap(
    lambda many: st.lists(
        st.sets(st.integers(0, many - 1)).map(sorted) if many else st.just([]), min_size=0, max_size=5
    )
)


def every_pairing(fits: Sequence[Sequence[int]]) -> Iterator[list[int | None]]:
    for claims in itertools.product(*([*one, None] for one in fits)):
        taken = [claim for claim in claims if claim is not None]
        if len(taken) == len(set(taken)):
            yield list(claims)


def size(claims: Sequence[int | None]) -> int:
    return sum(claim is not None for claim in claims)


@given(FITS)
def test_pairing_is_the_first_of_the_largest(fits: list[list[int]]) -> None:
    largest = max(map(size, every_pairing(fits)))
    rank = [
        ([claim is None for claim in claims], [-1 if claim is None else claim for claim in claims], claims)
        for claims in every_pairing(fits)
        if size(claims) == largest
    ]
    assert pair(fits) == min(rank, key=lambda one: one[:2])[2]


def test_pairing_serves_a_gold_call_that_a_greedy_pass_would_leave_out() -> None:
    assert pair([[0, 1], [0]]) == [1, 0]


def test_pairing_takes_position_by_position_where_everything_fits() -> None:
    assert pair([[0, 1, 2]] * 3) == [0, 1, 2]


def test_pairing_of_nothing_is_empty() -> None:
    assert pair([]) == []
    assert pair([[], []]) == [None, None]
