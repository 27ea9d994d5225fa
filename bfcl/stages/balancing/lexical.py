"""Which rows are worded alike, letter by letter: the finder `lexical:char-ngram-v1`. Rule: generation.md §3.8.

A text becomes the counts of its character 3- to 5-grams, hashed by scikit-learn to so many signed columns that hardly
two share one. A vector hangs on its own text only: adding a template changes no other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata, util
from typing import Any, Final

from bfcl.canonical import canonical_json
from bfcl.errors import Problem, StageError, install
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.finder import Found, embedding_signature
from bfcl.stages.balancing.matching import matched
from bfcl.stages.balancing.nearest import Nearest, nearest

IDENTIFIER: Final = "lexical:char-ngram-v1"
_COLUMNS: Final = 1 << 18
_LETTERS: Final = (3, 5)
_BATCH: Final = 2048


class LexicalFinder:
    """Near-duplicates by spelling. No processor and no number of threads has a say in the answer: see `nearest`."""

    identifier: Final = IDENTIFIER

    def __init__(self) -> None:
        """Raises StageError `dedup_backend_unavailable` where scikit-learn is missing; it is not loaded yet."""
        if util.find_spec("sklearn") is None:
            raise StageError(_missing("scikit-learn is not installed"))

    @property
    def version(self) -> str:
        """The libraries that count, hash and compare."""
        return ", ".join(f"{name} {metadata.version(name)}" for name in ("scikit-learn", "scipy", "numpy"))

    def prepare(self, _: Callable[[], Mapping[TaskId, str]]) -> str:
        """See `Finder.prepare`. Nothing comes from outside."""
        return self.version

    def find(self, texts: Mapping[TaskId, str], partitions: int) -> Found:
        """See `Finder.find`. Rows come in the order of their ids; equal texts are compared once.

        Raises: StageError `dedup_backend_unavailable` where scikit-learn cannot be loaded.
        """
        numbers: dict[str, int] = {}
        vectors: Any = None

        def compare(distinct: Sequence[str], seeds: list[int]) -> Nearest:
            nonlocal vectors
            numbers.update({text: number for number, text in enumerate(distinct)})
            vectors = _vectors(distinct)
            return nearest(vectors, seeds)

        matches = matched(texts, partitions, compare)
        return Found(
            embedding_signature=embedding_signature(_signed(texts, numbers, vectors)),
            embedded=tuple(matches),
            matches=matches,
        )


def _vectors(texts: Sequence[str]) -> Any:
    """A CSR matrix of int32, one row a text, columns rising, no zeros stored."""
    try:
        from scipy.sparse import vstack
        from sklearn.feature_extraction.text import HashingVectorizer
    except ImportError as error:
        raise StageError(_missing(f"scikit-learn cannot be loaded: {error}")) from error
    hashing = HashingVectorizer(analyzer="char", ngram_range=_LETTERS, n_features=_COLUMNS, norm=None)
    # In batches, since counts come out twice as wide as they are kept.
    vectors = vstack(
        [hashing.transform(texts[start : start + _BATCH]).astype("int32") for start in range(0, len(texts), _BATCH)],
        format="csr",
    )
    vectors.eliminate_zeros()
    vectors.sort_indices()
    return vectors


def _signed(texts: Mapping[TaskId, str], numbers: Mapping[str, int], vectors: Any) -> Iterator[tuple[TaskId, bytes]]:
    """By id, each row's vector as canonical JSON of `[columns, counts]`, columns rising, zeros left out."""

    # Rows of one template follow each other and mostly read the same.
    @functools.lru_cache(maxsize=1024)
    def encoded(number: int) -> bytes:
        row = slice(vectors.indptr[number], vectors.indptr[number + 1])
        return canonical_json([vectors.indices[row].tolist(), vectors.data[row].tolist()])

    for task_id in sorted(texts):
        yield task_id, encoded(numbers[texts[task_id]])


def _missing(seen: str) -> Problem:
    return Problem(
        code="dedup_backend_unavailable",
        message=f"`{IDENTIFIER}` cannot be used: {seen}",
        subject="semantic_deduplication_config.model_identifier",
        fix=install("balance"),
    )
