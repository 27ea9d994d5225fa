"""What do the rows of a staged table say, once, for every format? Rule: generation.md §7.

The one decoding that all exports derive from, bound to the table's hash and the order of its ids. It streams: a row is
decoded, checked and handed on; rows at fault are held back and told together at the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_file
from bfcl.errors import Problem, StageError, raise_all
from bfcl.exports.decode_row import SCHEMA_MISMATCH, decode_row
from bfcl.exports.row import ExportRow, Source
from bfcl.tables.benchmark import read_rows, schema_problem

HASH_MISMATCH: Final = "export_hash_or_equivalence_mismatch"
EXPORT_FIX: Final = "fix the pack or generate again; never patch an export"

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedTable:
    """A written table as whoever staged it knows it."""

    path: Path
    file: str
    """Its name in the run directory once published."""
    content_hash: Digest
    task_ids: Sequence[str]
    """In the order planned."""


class Decoding:
    """Iterate once over the good rows; then ask for the `problems` of the others, or the `source` of all."""

    def __init__(self, table: StagedTable) -> None:
        self._table = table
        self._problems: list[Problem] = []
        self._unshown = 0
        self._shared: Mapping[str, Json] | None = None
        self._rows = 0

    def __iter__(self) -> Iterator[ExportRow]:
        """Good rows in file order; none of a table that is not the one staged.

        Raises: ReleaseError `release_payload_unreadable` on damaged pages.
        """
        if self._is_another_table():
            return
        seen: set[str] = set()
        for index, (published, planned) in enumerate(zip_longest(read_rows(self._table.path), self._table.task_ids)):
            if published is None:
                self.book(row_problem(SCHEMA_MISMATCH, planned, f"row {index} is absent, expected this task"))
                continue
            self._rows += 1
            task_id = published["task_id"]
            if task_id in seen:
                self.book(row_problem(SCHEMA_MISMATCH, task_id, f"row {index} repeats this task"))
            elif task_id != planned:
                wanted = "none" if planned is None else f"`{planned}`"
                self.book(row_problem(SCHEMA_MISMATCH, task_id, f"row {index} is this task, expected {wanted}"))
            seen.add(task_id)
            row = decode_row(published)
            if isinstance(row, ExportRow):
                if self._of_this_run(row):
                    yield row
            else:
                for fault in row:
                    self.book(row_problem(fault.code, task_id, fault.message))

    @property
    def problems(self) -> list[Problem]:
        """Those of all rows read so far: the first 20, then how many more there are."""
        if not self._unshown:
            return list(self._problems)
        message = f"{self._unshown} more problems are not shown"
        return [*self._problems, row_problem(SCHEMA_MISMATCH, self._table.file, message)]

    def book(self, problem: Problem) -> None:
        """Tell a problem of a row together with the others."""
        if len(self._problems) < _SHOWN:
            self._problems.append(problem)
        else:
            self._unshown += 1

    def source(self) -> Source:
        """The table, read to its end. Raises: StageError with all problems, or where it holds no row."""
        raise_all(StageError, self.problems)
        if self._shared is None:
            raise StageError(row_problem(SCHEMA_MISMATCH, self._table.file, "holds no row, expected at least one"))
        return Source(
            file=self._table.file,
            content_hash=self._table.content_hash,
            rows=self._rows,
            pack_id=str(self._shared["pack_id"]),
            pack_version=str(self._shared["pack_version"]),
            tier=str(self._shared["tier"]),
            gold_eligible=bool(self._shared["gold_eligible"]),
            expt_name=str(self._shared["expt_name"]),
        )

    def _is_another_table(self) -> bool:
        # The hash first: of other bytes nothing else is worth telling.
        seen = sha256_file(self._table.path)
        if seen != self._table.content_hash:
            message = f"hashes to {seen}, staged was {self._table.content_hash}"
            self.book(row_problem(HASH_MISMATCH, self._table.file, message))
        elif problem := schema_problem(self._table.path):
            self.book(dataclasses.replace(problem, code=SCHEMA_MISMATCH, subject=self._table.file, fix=EXPORT_FIX))
        return bool(self._problems)

    def _of_this_run(self, row: ExportRow) -> bool:
        """Whether a row shares with the first what all rows of a run share; books what it does not."""
        published = row.published
        own: dict[str, Json] = {
            "pack_id": published["pack_id"],
            "pack_version": published["pack_version"],
            "tier": published["tier"],
            "gold_eligible": published["gold_eligible"],
            "expt_name": row.metadata["expt_name"],
        }
        if self._shared is None:
            self._shared = own
        others = [name for name, value in own.items() if value != self._shared[name]]
        for name in others:
            message = f"`{name}` is {own[name]!r}, in the rows before it is {self._shared[name]!r}"
            self.book(row_problem(SCHEMA_MISMATCH, row.task_id, message))
        return not others


def row_problem(code: str, subject: str, message: str) -> Problem:
    """A problem of one row, or of the table as a whole: `subject` names the task or the file."""
    return Problem(code=code, subject=subject, message=message, fix=EXPORT_FIX)
