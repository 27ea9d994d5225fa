"""A pairing is as large as any; uncrossed where that can be; then the first by gold order and by that of the reply."""

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
    rank = [claims for claims in every_pairing(fits) if size(claims) == largest]
    uncrossed = [claims for claims in rank if not crosses(claims)]
    found = pair(fits)
    assert found in rank
    if uncrossed:
        assert found in uncrossed
    else:
        assert found == min(
            rank, key=lambda one: ([claim is None for claim in one], [-1 if claim is None else claim for claim in one])
        )


def crosses(claims: Sequence[int | None]) -> bool:
    taken = [claim for claim in claims if claim is not None]
    return taken != sorted(taken)


@given(FITS)
def test_pairing_depends_on_nothing_but_what_fits(fits: list[list[int]]) -> None:
    assert pair(fits) == pair(tuple(map(tuple, fits)))


def test_pairing_of_calls_in_gold_order_crosses_nothing_though_an_earlier_gold_call_is_left_out() -> None:
    # The first and the last gold call leave a default open, the second states it; the first was not called.
    assert pair([[0, 1], [0], [0, 1]]) == [0, None, 1]


def test_pairing_serves_a_gold_call_that_a_greedy_pass_would_leave_out() -> None:
    assert pair([[0, 1], [0]]) == [1, 0]


def test_pairing_takes_position_by_position_where_everything_fits() -> None:
    assert pair([[0, 1, 2]] * 3) == [0, 1, 2]


def test_pairing_of_nothing_is_empty() -> None:
    assert pair([]) == []
    assert pair([[], []]) == [None, None]
