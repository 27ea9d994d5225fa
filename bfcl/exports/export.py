"""How does a staged table become trees of exported files, every byte of them checked? Rule: generation.md §6.2, §7.

One pass over the table feeds every format asked for; then every tree is read back from the disk. Memory holds a batch
of rows and a digest a truth field of each row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from bfcl.digest import Digest, Sha256Stream
from bfcl.errors import StageError
from bfcl.exports.decode import Decoding, StagedTable
from bfcl.exports.format import Format, Piece, truth_of
from bfcl.exports.formats import FORMATS
from bfcl.exports.read_back import TruthDigests, digests_of, read_tree
from bfcl.exports.report import Exported, ExportOutcome
from bfcl.exports.row import ExportRow, Source
from bfcl.exports.tree_hash import tree_hash
from bfcl.files import storage, sync_tree, write_plain
from bfcl.stages.artifacts import EXPORT_REPORT


def export_all(table: StagedTable, names: Sequence[str], directory: Path) -> ExportOutcome:
    """Write `directory/<format>/` of every format named, read all back and leave the report beside them.

    `directory` is the staged `exports/`, made here, and synced; the caller renames it, or removes it on any error. An
    outcome may have failed: then its `problems` are to be raised and its `report` kept elsewhere.
    Raises: StageError `export_schema_mismatch` or `unsupported_export_call_layout` with the problems of all rows, and
    `storage_failed`; KeyError for a format that is not in `FORMATS`.
    """
    formats = [FORMATS[name] for name in sorted(set(names))]
    with storage(directory):
        directory.mkdir(parents=True)
    written, rows, source = _write(table, formats, directory)
    outcome = ExportOutcome(
        benchmark_rows=source.rows,
        benchmark_content_hash=source.content_hash,
        formats=tuple(
            Exported(
                name=form.name,
                schema_version=form.schema_version,
                written_hash=written_hash,
                tree=read_tree(form, directory / form.name, rows),
                expected_rows=source.rows,
            )
            for form, written_hash in zip(formats, written, strict=True)
        ),
    )
    write_plain(directory / EXPORT_REPORT, outcome.report)
    sync_tree(directory)
    return outcome


def _write(
    table: StagedTable, formats: Sequence[Format], directory: Path
) -> tuple[list[Digest], list[TruthDigests], Source]:
    """The tree hash of each format, and the digests of every row."""
    decoding = Decoding(table)
    rows = []
    with ExitStack() as stack:
        trees = [stack.enter_context(_TreeWriter(form, directory / form.name)) for form in formats]
        for row in decoding:
            rows.append(digests_of(truth_of(row)))
            for tree in trees:
                try:
                    tree.add(row)
                except StageError as error:
                    _book(decoding, error)
        source = decoding.source()
        written = [tree.finish(source) for tree in trees]
    return written, rows, source


def _book(decoding: Decoding, error: StageError) -> None:
    """A row that a format cannot carry is told with all others; a disk that refuses ends the run at once."""
    if any(problem.code == "storage_failed" for problem in error.problems):
        raise error
    for problem in error.problems:
        decoding.book(problem)


class _TreeWriter:
    """Appends the pieces of one format to its files, hashing what it hands to the disk."""

    def __init__(self, form: Format, directory: Path) -> None:
        self._directory = directory
        self._writer = form.writer()
        self._files: dict[str, tuple[BinaryIO, Sha256Stream]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> _TreeWriter:
        with storage(self._directory):
            self._directory.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, row: ExportRow) -> None:
        """Append a row. Raises: StageError of the format, or `storage_failed`."""
        self._append(self._writer.add(row))

    def finish(self, source: Source) -> Digest:
        """Append what the whole table decides and close the files; the hash of the tree as written."""
        self._append(self._writer.finish(source))
        with storage(self._directory):
            self._stack.close()
        return tree_hash({name: stream.digest() for name, (_, stream) in self._files.items()})

    def _append(self, pieces: Iterable[Piece]) -> None:
        for name, data in pieces:
            with storage(self._directory / name):
                file, stream = self._files.get(name) or self._open(name)
                file.write(data)
            stream.update(data)

    def _open(self, name: str) -> tuple[BinaryIO, Sha256Stream]:
        path = self._directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        file = self._stack.enter_context(path.open("xb"))
        # Published files are readable by everyone, whatever umask the run has.
        os.fchmod(file.fileno(), 0o644)
        return self._files.setdefault(name, (file, Sha256Stream()))
