"""The most alike row before each, against plain integer arithmetic, and partitions that keep equals together."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from bfcl.stages.balancing.nearest import nearest


def _sparse(rows: list[list[int]]) -> csr_matrix:
    return csr_matrix(np.array(rows, dtype=np.int32).reshape(len(rows), -1))


def _cosine(left: list[int], right: list[int]) -> float:
    product = sum(a * a for a in left) * sum(b * b for b in right)
    if product == 0:
        return 0.0
    return sum(a * b for a, b in zip(left, right, strict=True)) / sqrt(product)


_ROWS = st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=12)


@settings(max_examples=60)
@given(_ROWS, st.integers(1, 4), st.sampled_from([1, 2, 5, 1024]))
def test_nearest_equals_plain_comparison_of_all_pairs(rows: list[list[int]], seeds: int, block: int) -> None:
    found = nearest(_sparse(rows), list(range(len(rows)))[:seeds], block)
    for row, vector in enumerate(rows):
        earlier = [each for each in range(row) if found.partitions[each] == found.partitions[row]]
        if not earlier:
            assert (found.predecessors[row], found.similarities[row]) == (None, None)
            continue
        scores = [_cosine(vector, rows[each]) for each in earlier]
        assert found.similarities[row] == max(scores)
        assert found.predecessors[row] == earlier[scores.index(max(scores))]
    for left in range(len(rows)):
        for right in range(left):
            if rows[left] == rows[right]:
                assert found.partitions[left] == found.partitions[right]


def test_nearest_parts_rows_by_direction_whatever_their_length() -> None:
    rows = [[9, 0, 1], [0, 8, 0], [90, 1, 9], [1, 80, 0], [8, 0, 0], [0, 1, 0]]
    found = nearest(_sparse(rows), [0, 1])
    assert found.partitions == [0, 1, 0, 1, 0, 1]
    assert found.predecessors == [None, None, 0, 1, 2, 1]


def test_nearest_moves_centres_away_from_poor_seeds() -> None:
    # Both seeds lie in one heap. Everything goes to one of them, which the other heap then pulls over.
    rows = [[10, 0, 1], [10, 1, 0], *[[1, 20, 19]] * 4, [10, 0, 0]]
    assert nearest(_sparse(rows), [0, 1]).partitions == [0, 0, 1, 1, 1, 1, 0]


def test_nearest_answers_in_plain_numbers() -> None:
    found = nearest(_sparse([[1, 0], [2, 0]]), [0])
    assert found == ([0, 0], [None, 0], [None, 1.0])
    assert {type(value) for part in found for value in part} == {int, float, type(None)}


@pytest.mark.parametrize("long", [3_000, 40_000, 60_000, 2_000_000_000])
def test_nearest_compares_long_vectors_as_well(long: int) -> None:
    rows = [[long, 1], [1, long], [long, 1]]
    found = nearest(_sparse(rows), [0])
    assert found.predecessors == [None, 0, 0]
    assert found.similarities[1] == pytest.approx(2 * long / (long * long + 1))
    assert found.similarities[2] == 1.0
