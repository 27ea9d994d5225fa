"""Which survivors read alike, as a pluggable finder says, and is its answer whole? Rule: generation.md §3.8.3."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from bfcl.canonical import canonical_json
from bfcl.digest import Digest, Sha256Stream, sha256_hex
from bfcl.errors import Problem, StageError, raise_all
from bfcl.records.ids import TaskId

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One row's most alike row among those before it in its partition; the first of a partition has none."""

    partition: int
    predecessor_id: TaskId | None
    similarity: float | None
    """Cosine, -1 to 1; None without a predecessor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A finder's answer: what it compared, and what came out."""

    embedding_signature: Digest
    """See the function of that name."""
    embedded: tuple[TaskId, ...]
    """The ids whose vectors the signature covers."""
    matches: Mapping[TaskId, Match]


class Finder(Protocol):
    """Something that turns texts into vectors and compares them."""

    @property
    def identifier(self) -> str:
        """As the configuration names it."""

    @property
    def version(self) -> str:
        """The libraries its answer may hang on, as text."""

    def prepare(self, texts: Callable[[], Mapping[TaskId, str]]) -> str:
        """Bring in from outside what `find` will need for these texts, before a stored result is looked up.

        What the answer may hang on besides texts and identifier, as text: `version`, and what was brought in. A finder
        that needs nothing from outside never calls `texts`, which may be dear.
        """

    def find(self, texts: Mapping[TaskId, str], partitions: int) -> Found:
        """Compare at least two rows, in at most so many partitions, numbered from 0.

        The answer is the same for any order of `texts`, and texts that are equal have similarity 1 and one partition.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinship:
    """What the finder's answer says of one row once links are drawn."""

    cluster_id: str | None
    """`curator-` and 20 hex digits over the sorted ids of its linked component; None where that is the row alone."""
    is_duplicate: bool
    """Linked to its predecessor: exactly one row of a component is not."""
    predecessor_id: TaskId | None
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Every row's kinship, and what the comparison was made of."""

    rows: Mapping[TaskId, Kinship]
    """In the order of the texts."""
    components: tuple[tuple[TaskId, ...], ...]
    """Every linked component, single rows too: ids sorted, components by their first id."""
    effective_n_clusters: int
    embedding_signature: Digest | None
    """None where no finder was asked."""


def likeness(finder: Finder, texts: Mapping[TaskId, str], n_clusters: int, eps: float) -> Likeness:
    """Ask the finder, check its answer, link each row to its predecessor where they are at least 1 - `eps` alike.

    Fewer than two rows are alike to nothing: the finder is not asked. Raises StageError: what the finder raises, and
    `dedup_finder_invalid` with every way in which its answer disagrees with the rows or with itself.
    """
    clusters = effective_clusters(n_clusters, len(texts))
    if len(texts) < 2:
        alone = Kinship(cluster_id=None, is_duplicate=False, predecessor_id=None, similarity=None)
        rows = dict.fromkeys(texts, alone)
        return Likeness(
            rows=rows,
            components=tuple((task_id,) for task_id in rows),
            effective_n_clusters=clusters,
            embedding_signature=None,
        )
    found = finder.find(texts, clusters)
    raise_all(StageError, [_invalid(finder, message) for message in _faults(found, texts, clusters)])
    # The very comparison the contract states: a finder's 1.0 is at least 1 - eps for every eps.
    linked = {
        task_id: match.predecessor_id
        for task_id, match in found.matches.items()
        if match.predecessor_id is not None and match.similarity is not None and match.similarity >= 1 - eps
    }
    components = _components(texts, linked)
    names: dict[TaskId, str] = {}
    for component in components:
        if len(component) > 1:
            names.update(dict.fromkeys(component, cluster_id("curator", component)))
    return Likeness(
        rows={
            task_id: Kinship(
                cluster_id=names.get(task_id),
                is_duplicate=task_id in linked,
                predecessor_id=found.matches[task_id].predecessor_id,
                similarity=found.matches[task_id].similarity,
            )
            for task_id in texts
        },
        components=components,
        effective_n_clusters=clusters,
        embedding_signature=found.embedding_signature,
    )


def effective_clusters(n_clusters: int, rows: int) -> int:
    """How many partitions so many rows are worth."""
    return min(n_clusters, max(1, rows // 2))


def cluster_id(prefix: str, members: Iterable[TaskId]) -> str:
    """Name of a set of rows: the prefix and 20 hex digits of SHA-256 over canonical JSON of its sorted ids."""
    return f"{prefix}-{sha256_hex(canonical_json(sorted(members)))[:20]}"


def embedding_signature(vectors: Iterable[tuple[TaskId, bytes]]) -> Digest:
    """SHA-256 of canonical JSON of `[[id, vector], ...]`, given each id with canonical JSON of its vector.

    Pairs come sorted by id and are never held together. Raises ValueError for ids out of order.
    """
    stream = Sha256Stream()
    last: TaskId | None = None
    for task_id, vector in vectors:
        if last is not None and task_id <= last:
            raise ValueError(f"{task_id} is signed after {last}")
        stream.update(b"[" if last is None else b",")
        stream.update(b"[" + canonical_json(task_id) + b"," + vector + b"]")
        last = task_id
    stream.update(b"[]" if last is None else b"]")
    return stream.digest()


def _components(ids: Iterable[TaskId], linked: Mapping[TaskId, TaskId]) -> tuple[tuple[TaskId, ...], ...]:
    roots: dict[TaskId, TaskId] = {}
    members: dict[TaskId, list[TaskId]] = {}
    for task_id in sorted(ids):
        path = []
        at = task_id
        while at in linked and at not in roots:
            path.append(at)
            at = linked[at]
        root = roots.get(at, at)
        roots.update(dict.fromkeys(path, root))
        members.setdefault(root, []).append(task_id)
    return tuple(sorted(tuple(each) for each in members.values()))


# --- is the answer whole? --------------------------------------------------------------------------------------------


def _invalid(finder: Finder, message: str) -> Problem:
    return Problem(
        code="dedup_finder_invalid",
        message=message,
        subject=finder.identifier,
        fix="nothing was selected; report it to whoever maintains this finder, or name another `model_identifier`",
    )


def _faults(found: Found, texts: Collection[TaskId], partitions: int) -> list[str]:
    ids = set(texts)
    faults = [
        *_uncovered("matches", found.matches, ids),
        *_uncovered("vectors", found.embedded, ids),
    ]
    if len(found.embedded) != len(set(found.embedded)):
        faults.append("the signature covers a row twice")
    if faults:
        return faults
    faults += _listed(
        ("is its own predecessor", "are their own predecessors"),
        [i for i, match in found.matches.items() if match.predecessor_id == i],
    )
    faults += _listed(_having("a score that is no number from -1 to 1"), _misscored(found.matches))
    faults += _listed(
        _having("a predecessor but no score, or a score but no predecessor"),
        [i for i, match in found.matches.items() if (match.predecessor_id is None) != (match.similarity is None)],
    )
    faults += _listed(
        _being(f"in no partition from 0 to {partitions - 1}"),
        [i for i, match in found.matches.items() if not 0 <= match.partition < partitions],
    )
    faults += _listed(_having("a predecessor in another partition, or in none"), _strayed(found.matches))
    return faults or list(_disordered(found.matches))


def _uncovered(what: str, seen: Collection[TaskId], ids: set[TaskId]) -> Iterator[str]:
    yield from _listed(_being(f"missing from the {what}"), ids.difference(seen))
    unasked = f"in the {what} but"
    yield from _listed((f"is {unasked} was not asked about", f"are {unasked} were not asked about"), set(seen) - ids)


def _misscored(matches: Mapping[TaskId, Match]) -> list[TaskId]:
    scores = ((task_id, match.similarity) for task_id, match in matches.items())
    return [i for i, score in scores if score is not None and not (math.isfinite(score) and -1 <= score <= 1)]


def _strayed(matches: Mapping[TaskId, Match]) -> Iterator[TaskId]:
    for task_id, match in matches.items():
        if match.predecessor_id is not None:
            predecessor = matches.get(match.predecessor_id)
            if predecessor is None or predecessor.partition != match.partition:
                yield task_id


def _disordered(matches: Mapping[TaskId, Match]) -> Iterator[str]:
    """Predecessors must lead back to the one first row of each partition: else some cluster is all duplicates."""
    firsts: dict[int, int] = {}
    settled: set[TaskId] = set()
    circular: list[TaskId] = []
    for task_id, match in matches.items():
        firsts[match.partition] = firsts.get(match.partition, 0) + (match.predecessor_id is None)
        path: dict[TaskId, None] = {}
        at: TaskId | None = task_id
        while at is not None and at not in settled and at not in path:
            path[at] = None
            at = matches[at].predecessor_id
        if at is not None and at in path:
            circular.append(at)
        settled.update(path)
    yield from _listed(
        ("comes before itself, by way of its predecessors", "come before themselves, by way of their predecessors"),
        circular,
    )
    for partition, count in sorted(firsts.items()):
        if count > 1:
            yield f"{count} rows of partition {partition} have no predecessor; expected one, its first"


Wording = tuple[str, str]
"""What is said of one row, and of several."""


def _being(what: str) -> Wording:
    return f"is {what}", f"are {what}"


def _having(what: str) -> Wording:
    return f"has {what}", f"have {what}"


def _listed(fault: Wording, ids: Iterable[TaskId]) -> Iterator[str]:
    """One sentence for all rows with a fault, naming the first few."""
    named = sorted(ids)
    one, several = fault
    if len(named) == 1:
        yield f"row {named[0]} {one}"
    elif named:
        last = named[-1] if len(named) <= _SHOWN else f"{len(named) - _SHOWN} more"
        first = named[: min(_SHOWN, len(named) - 1)]
        yield f"rows {', '.join(first)} and {last} {several}"
