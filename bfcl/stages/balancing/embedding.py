"""Which rows mean the same, as a model's vectors say: the finder `endpoint:<model>`. Rule: generation.md §3.8.

The model itself arrives from outside, recorded: what it once answered decides, on every machine and without a network.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata, util
from typing import Final, Protocol

from bfcl.canonical import canonical_json
from bfcl.digest import Digest
from bfcl.errors import Problem, StageError, install
from bfcl.modelio.embeddings import packed
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.dense import directions, nearest_dense
from bfcl.stages.balancing.finder import Found, embedding_signature
from bfcl.stages.balancing.matching import matched
from bfcl.stages.balancing.nearest import Nearest

KIND: Final = "endpoint"
"""What stands before the colon of an identifier."""


class Embeddings(Protocol):
    """A model that gives texts vectors."""

    def fill(self, texts: Iterable[str]) -> Digest:
        """See to it that the vectors of these texts are at hand; the digest of the answers they come from."""

    def vectors(self, texts: Sequence[str]) -> Iterator[Sequence[float]]:
        """The vectors of texts that are at hand, in their order: finite, of one length, none all zero."""


class EndpointFinder:
    """Near-duplicates by meaning: the cosine of a model's vectors."""

    def __init__(self, model: str, embeddings: Embeddings) -> None:
        """Raises StageError `dedup_backend_unavailable` where numpy is missing; it is not loaded yet."""
        self.identifier = f"{KIND}:{model}"
        self._embeddings = embeddings
        if util.find_spec("numpy") is None:
            raise StageError(
                Problem(
                    code="dedup_backend_unavailable",
                    message=f"`{self.identifier}` cannot be used: numpy is not installed",
                    subject="semantic_deduplication_config.model_identifier",
                    fix=install("balance"),
                )
            )

    @property
    def version(self) -> str:
        """The library that compares. What the model answered is told by `prepare`."""
        return f"numpy {metadata.version('numpy')}"

    def prepare(self, texts: Callable[[], Mapping[TaskId, str]]) -> str:
        """See `Finder.prepare`. Fewer than two rows are alike to nothing: the model is not asked.

        Raises: ModelError and ConfigError as the model does.
        """
        wanted = texts()
        if len(wanted) < 2:
            return self.version
        return f"{self.version}, responses {self._embeddings.fill(wanted.values())}"

    def find(self, texts: Mapping[TaskId, str], partitions: int) -> Found:
        """See `Finder.find`. Rows come in the order of their ids; equal texts are compared once.

        Raises: ModelError and ConfigError as the model does.
        """
        ids = sorted(texts)
        self._embeddings.fill(texts.values())

        def compare(distinct: Sequence[str], seeds: list[int]) -> Nearest:
            return nearest_dense(directions(self._embeddings.vectors(distinct)), seeds)

        return Found(
            matches=matched(texts, partitions, compare),
            embedding_signature=embedding_signature(self._signed(ids, texts)),
            embedded=tuple(ids),
        )

    def _signed(self, ids: Sequence[TaskId], texts: Mapping[TaskId, str]) -> Iterator[tuple[TaskId, bytes]]:
        """Each row's vector as canonical JSON of its `packed` form, the numbers as the model gave them."""

        # Rows of one template follow each other and mostly read the same.
        @functools.lru_cache(maxsize=64)
        def encoded(text: str) -> bytes:
            (vector,) = self._embeddings.vectors([text])
            return canonical_json(packed(vector))

        for task_id in ids:
            yield task_id, encoded(texts[task_id])
