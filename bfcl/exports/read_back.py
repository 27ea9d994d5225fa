"""Does a written tree still tell the rows it was made from? Rule: generation.md §7, read-back.

The tree is read from the disk anew. Of the rows only digests are held, one to a truth field, so that a comparison by
type and value of any number of rows takes little memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from bfcl.digest import Digest
from bfcl.exports.exact import exact_digest
from bfcl.exports.format import TRUTH_FIELDS, Format, Truth, TruthField, Unreadable
from bfcl.exports.tree_hash import tree_files, tree_hash

Reason: TypeAlias = Literal[
    "missing_row", "unexpected_row", "duplicate_row", "row_order_changed", "truth_field_changed"
]

_DIGEST_BYTES = 32


class Failure(NamedTuple):
    """One way in which a tree differs from its rows. `field` is null but for a changed truth field."""

    task_id: str
    reason: Reason
    field: TruthField | None = None


class TruthDigests(NamedTuple):
    """A row's id, and the digests of its truth fields in their order, end to end."""

    task_id: str
    digests: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What a format's files are on the disk."""

    content_hash: Digest
    rows: int
    failures: tuple[Failure, ...]
    unreadable: str | None
    """Why reading stopped before the end, or None."""


def digests_of(truth: Truth) -> TruthDigests:
    """The digests that a faithful export of these fields has."""
    return TruthDigests(truth.task_id, b"".join(exact_digest(getattr(truth, field)) for field in TRUTH_FIELDS))


def read_tree(form: Format, directory: Path, rows: Sequence[TruthDigests]) -> Tree:
    """Read a format's tree and hold it against the rows it was made from, in publication order.

    Failures: rows that are there, in file order, then rows that are missing, then rows that changed places.
    """
    comparison = _Comparison(form, rows)
    unreadable = None
    try:
        for truth in form.read_back(directory):
            comparison.see(truth)
    except Unreadable as error:
        unreadable = str(error)
    return Tree(
        content_hash=tree_hash(tree_files(directory)),
        rows=comparison.seen_rows,
        failures=tuple(comparison.end()),
        unreadable=unreadable,
    )


class _Comparison:
    def __init__(self, form: Format, rows: Sequence[TruthDigests]) -> None:
        self._compared = [(TRUTH_FIELDS.index(field), field) for field in TRUTH_FIELDS if field in form.carries]
        self._rows = rows
        self._digests = {row.task_id: row.digests for row in rows}
        self._order: dict[str, None] = {}
        self._failures: list[Failure] = []
        self.seen_rows = 0

    def see(self, truth: Truth) -> None:
        """Compare one row read back."""
        self.seen_rows += 1
        task_id = truth.task_id
        if task_id not in self._digests:
            self._failures.append(Failure(task_id, "unexpected_row"))
        elif task_id in self._order:
            self._failures.append(Failure(task_id, "duplicate_row"))
        else:
            self._order[task_id] = None
            self._failures += self._changed(truth)

    def end(self) -> Iterator[Failure]:
        """Every failure, once no row is left to read."""
        yield from self._failures
        kept = [row.task_id for row in self._rows if row.task_id in self._order]
        if len(kept) < len(self._rows):
            yield from (Failure(row.task_id, "missing_row") for row in self._rows if row.task_id not in self._order)
        for seen, wanted in zip(self._order, kept, strict=True):
            if seen != wanted:
                yield Failure(seen, "row_order_changed")

    def _changed(self, truth: Truth) -> Iterator[Failure]:
        seen, wanted = digests_of(truth).digests, self._digests[truth.task_id]
        if seen == wanted:
            return
        for index, field in self._compared:
            at = slice(index * _DIGEST_BYTES, (index + 1) * _DIGEST_BYTES)
            if seen[at] != wanted[at]:
                yield Failure(truth.task_id, "truth_field_changed", field)
