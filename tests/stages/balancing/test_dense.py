"""The most alike vector before each, against plain arithmetic; exact in any order of terms, blocks and threads."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from math import fsum, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.stages.balancing.dense import LENGTH, directions, nearest_dense

_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_VECTOR = st.lists(_NUMBERS, min_size=3, max_size=3).filter(any)
_PLAIN = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3).filter(any)


def _cosine(left: list[float], right: list[float]) -> float:
    return fsum(a * b for a, b in zip(left, right, strict=True)) / sqrt(
        fsum(a * a for a in left) * fsum(b * b for b in right)
    )


def _exact(left: list[int], right: list[int]) -> float:
    product = sum(a * a for a in left) * sum(b * b for b in right)
    return sum(a * b for a, b in zip(left, right, strict=True)) / sqrt(product)


@settings(deadline=None)
@given(st.lists(_VECTOR, min_size=1, max_size=5))
def test_directions_are_whole_numbers_of_one_length_for_any_finite_vector(vectors: list[list[float]]) -> None:
    rows = directions(vectors)
    assert rows.dtype == np.float64
    assert (rows == np.rint(rows)).all()
    assert np.sqrt((rows * rows).sum(axis=1)) == pytest.approx([LENGTH] * len(vectors), rel=1e-5)


@settings(deadline=None)
@given(_PLAIN, st.integers(-900, 900))
def test_direction_does_not_hang_on_length(vector: list[float], exponent: int) -> None:
    one, other = directions([vector, [number * 2.0**exponent for number in vector]])
    assert (one == other).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(_PLAIN, min_size=1, max_size=12), st.integers(1, 4), st.sampled_from([1, 2, 5, 1024]))
def test_nearest_equals_plain_comparison_of_all_pairs(vectors: list[list[float]], seeds: int, block: int) -> None:
    rows = directions(vectors)
    plain = [[int(number) for number in row] for row in rows.tolist()]
    found = nearest_dense(rows, list(range(len(vectors)))[:seeds], block)
    for row, vector in enumerate(vectors):
        earlier = [each for each in range(row) if found.partitions[each] == found.partitions[row]]
        if not earlier:
            assert (found.predecessors[row], found.similarities[row]) == (None, None)
            continue
        scores = [min(1.0, _exact(plain[row], plain[each])) for each in earlier]
        assert found.similarities[row] == pytest.approx(max(scores), abs=1e-15)
        assert found.predecessors[row] is not None
        assert found.similarities[row] == pytest.approx(_cosine(vector, vectors[found.predecessors[row]]), abs=1e-5)
        for each in range(row):
            if plain[each] == plain[row]:
                assert found.partitions[each] == found.partitions[row]
                assert found.similarities[row] == 1.0


def test_largest_vectors_are_compared_exactly() -> None:
    columns = 65_536
    random = np.random.default_rng(7)
    rows = directions(random.standard_normal((3, columns)))
    plain = [[int(number) for number in row] for row in rows.tolist()]
    found = nearest_dense(rows, [0])
    product = sum(a * b for a, b in zip(plain[0], plain[1], strict=True))
    assert int(rows[0] @ rows[1]) == product
    assert sum(a * a for a in plain[0]) < 2**53
    assert found.similarities[1] == pytest.approx(float(Fraction(product) / 2**40), abs=1e-4)


def test_partitions_are_honoured_and_part_unlike_directions() -> None:
    vectors = [[9.0, 0, 1], [0, 8, 0], [90, 1, 9], [1, 80, 0], [8, 0, 0], [0, 1, 0]]
    found = nearest_dense(directions(vectors), [0, 1])
    assert found.partitions == [0, 1, 0, 1, 0, 1]
    assert found.predecessors == [None, None, 0, 1, 2, 1]


def test_partition_that_nobody_is_nearest_to_stays_empty() -> None:
    found = nearest_dense(directions([[1.0, 0], [2.0, 0], [0, 1.0]]), [0, 1, 2])
    assert found.partitions == [0, 0, 2]


def test_answer_is_the_same_with_another_number_of_threads() -> None:
    script = (
        "import numpy as np\n"
        "from bfcl.stages.balancing.dense import directions, nearest_dense\n"
        "rows = directions(np.random.default_rng(7).standard_normal((300, 257)))\n"
        "print(nearest_dense(rows, [5, 1, 9]))"
    )
    shown = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for threads in ("1", "3")
    ]
    assert shown[0] == shown[1]
    assert "np." not in shown[0]
