"""Of many vectors without gaps, which most alike one comes before each? As `nearest`, for a model's vectors.

A direction is kept to whole numbers: each vector is stretched to the length 2**20 and rounded, which moves a cosine by
less than 0.00001. All products and sums of those are whole and below 2**53, hence exact in floating point whatever the
order of their terms: the answer depends neither on the processor nor on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from bfcl.stages.balancing.nearest import Nearest, parted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

LENGTH: Final = float(1 << 20)
_PEAK: Final = float(1 << 18)
"""Largest number in a centre: the square of its length stays exact up to 2**17 columns."""
BLOCK: Final = 1024
"""Rows compared at once: 8 MiB of scores."""
_ROUNDS: Final = 5


def directions(vectors: Iterable[Iterable[float]]) -> Floats:
    """One row a vector: whole numbers, as doubles. Vectors are finite, of one length, and none is all zero."""
    import numpy as np

    return np.array([_direction(np.fromiter(vector, dtype=np.float64)) for vector in vectors], dtype=np.float64)


def _direction(vector: Floats) -> Floats:
    import numpy as np

    # First by its largest number, so that no square is lost or grows beyond what a double holds.
    scaled = vector / np.abs(vector).max()
    # The sum is rounded once, in whatever order its terms come.
    length = math.sqrt(math.fsum((scaled * scaled).tolist()))
    rounded: Floats = np.rint(scaled / length * LENGTH)
    return rounded


def nearest_dense(rows: Floats, seeds: list[int], block: int = BLOCK) -> Nearest:
    """Part the rows around `seeds` (row numbers), then compare each with those before it in its partition.

    `rows` are of `directions`. Rows that are equal share a partition. `block` bounds the memory and changes nothing.
    """
    squares = (rows * rows).sum(axis=1)
    return parted(_labels(rows, seeds), lambda members: _before(rows[members], squares[members], block))


def _labels(rows: Floats, seeds: list[int]) -> Integers:
    """The partition of each row: k-means by direction from the seeds, until it settles or for so many rounds."""
    import numpy as np

    labels = np.zeros(len(rows), dtype=np.int64)
    if len(seeds) < 2:
        return labels
    centres = rows[seeds]
    for _ in range(_ROUNDS):
        lengths = np.sqrt((centres * centres).sum(axis=1))
        # The first of equals, so that rows that are equal never part.
        closest = ((rows @ centres.T) / lengths).argmax(axis=1)
        if np.array_equal(closest, labels):
            break
        labels = closest
        for label in range(len(seeds)):
            total = rows[labels == label].sum(axis=0)
            peak = np.abs(total).max()
            if peak > 0:
                # By a power of two: that only moves the point, so what is rounded away is the same everywhere.
                _, exponent = np.frexp(peak / _PEAK)
                centres[label] = np.rint(np.ldexp(total, -max(int(exponent), 0)))
    return labels


def _before(rows: Floats, squares: Floats, block: int) -> tuple[Floats, Integers]:
    """By row: the greatest cosine with an earlier row and that row's number, the first of equals; -2 for row 0."""
    import numpy as np

    best = np.full(len(rows), -2.0)
    places = np.zeros(len(rows), dtype=np.int64)
    for top in range(0, len(rows), block):
        here = slice(top, top + block)
        for left in range(0, top + 1, block):
            there = slice(left, left + block)
            scores = (rows[here] @ rows[there].T) / np.sqrt(np.outer(squares[here], squares[there]))
            # A product of two squares is rounded: a hair too short for its quotient to stay below 1.
            np.clip(scores, -1.0, 1.0, out=scores)
            if left == top:
                scores[np.triu_indices(len(scores))] = -2.0
            found = scores.argmax(axis=1)
            values = scores[np.arange(len(scores)), found]
            better = values > best[here]
            best[here] = np.where(better, values, best[here])
            places[here] = np.where(better, found + left, places[here])
    return best, places
