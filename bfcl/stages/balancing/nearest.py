"""Of many vectors, which most alike one comes before each? Rule: generation.md §3.8.3.

Vectors are whole numbers, and so are all sums made of them: exact, whatever the order of their terms. Roots and
quotients of single numbers are correctly rounded everywhere. So the answer depends neither on the processor nor on a
number of threads, as it would with the linear algebra of floating point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

SparseRows: TypeAlias = Any
"""A SciPy CSR matrix of int32, one vector a row."""

BLOCK: Final = 1024
"""Rows compared at once: 8 MiB of scores."""
_ROUNDS: Final = 3
_PEAK: Final = 8
"""Largest number in a centre. What is below half a step of it is left out, which keeps centres as sparse as rows."""


class Nearest(NamedTuple):
    """By row: its partition, the row before it that is most alike there (the first of several), and their cosine."""

    partitions: list[int]
    predecessors: list[int | None]
    similarities: list[float | None]


def nearest(vectors: SparseRows, seeds: list[int], block: int = BLOCK) -> Nearest:
    """Part the rows around `seeds` (row numbers), then compare each with those before it in its partition.

    Rows that are equal share a partition. A zero vector is alike to nothing: cosine 0. `block` bounds the memory and
    changes nothing else.
    """
    import numpy as np

    norms = _squares(vectors)
    if norms.size and norms.max() >= 2**31:
        vectors = vectors.astype(np.int64)
    return parted(_labels(vectors, seeds, block), lambda rows: _before(vectors[rows], norms[rows], block))


def parted(labels: Integers, before: Callable[[Integers], tuple[Floats, Integers]]) -> Nearest:
    """All partitions put together. `before` gets the rows of one and answers as `_before`, by their order."""
    import numpy as np

    predecessors: list[int | None] = [None] * len(labels)
    similarities: list[float | None] = [None] * len(labels)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        best, places = before(rows)
        for row, similarity, place in zip(rows[1:].tolist(), best[1:].tolist(), places[1:].tolist(), strict=True):
            predecessors[row] = int(rows[place])
            similarities[row] = similarity
    return Nearest(labels.tolist(), predecessors, similarities)


def _squares(vectors: SparseRows) -> Floats:
    """The squared length of each row."""
    import numpy as np

    squares = vectors.astype(np.int64)
    squares.data **= 2
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def _labels(vectors: SparseRows, seeds: list[int], block: int) -> Integers:
    """The partition of each row: k-means by direction from the seeds, until it settles or for so many rounds."""
    import numpy as np

    labels = np.zeros(vectors.shape[0], dtype=np.int64)
    if len(seeds) < 2:
        return labels
    centres = vectors[seeds].astype(np.int64)
    for _ in range(_ROUNDS):
        lengths = np.sqrt(_squares(centres))
        lengths[lengths == 0] = np.inf
        towards = centres.T.tocsr()
        closest = np.concatenate(
            [
                # The first of equals, so that rows that are equal never part.
                ((vectors[start : start + block] @ towards).toarray() / lengths).argmax(axis=1)
                for start in range(0, len(labels), block)
            ]
        )
        if np.array_equal(closest, labels):
            break
        labels = closest
        centres = _centres(vectors, labels, centres)
    return labels


def _centres(vectors: SparseRows, labels: Integers, centres: SparseRows) -> SparseRows:
    """The sum of each partition's rows, scaled down to `_PEAK`; a partition without rows keeps its centre."""
    import numpy as np
    from scipy.sparse import csr_matrix, vstack

    count = centres.shape[0]
    members = csr_matrix((np.ones(len(labels), np.int64), (labels, np.arange(len(labels)))), (count, len(labels)))
    sums = members @ vectors
    moved = []
    for label in range(count):
        row = sums[label]
        if not row.nnz:
            moved.append(centres[label])
            continue
        # By a power of two: that only moves the point, so what is rounded away is the same everywhere.
        _, exponent = np.frexp(np.abs(row.data).max() / _PEAK)
        row.data = np.rint(np.ldexp(row.data.astype(np.float64), -max(int(exponent), 0))).astype(np.int64)
        row.eliminate_zeros()
        moved.append(row)
    return vstack(moved, format="csr")


def _before(vectors: SparseRows, norms: Floats, block: int) -> tuple[Floats, Integers]:
    """By row: the greatest cosine with an earlier row and that row's number, the first of equals; -2 for row 0."""
    import numpy as np

    best = np.full(len(norms), -2.0)
    places = np.zeros(len(norms), dtype=np.int64)
    for left in range(0, len(norms), block):
        columns = vectors[left : left + block].T.tocsr()
        for top in range(left, len(norms), block):
            here = slice(top, top + block)
            scores = (vectors[here] @ columns).toarray().astype(np.float64)
            lengths = np.sqrt(np.outer(norms[here], norms[left : left + block]))
            np.divide(scores, lengths, out=scores, where=lengths > 0)
            # Beyond 2**53 a product of two lengths is rounded: a hair too short for its quotient to stay below 1.
            np.clip(scores, -1.0, 1.0, out=scores)
            if left == top:
                scores[np.triu_indices(len(scores))] = -2.0
            found = scores.argmax(axis=1)
            values = scores[np.arange(len(scores)), found]
            better = values > best[here]
            best[here] = np.where(better, values, best[here])
            places[here] = np.where(better, found + left, places[here])
    return best, places
