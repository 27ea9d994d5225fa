"""Rows that are written in one order and read in another, without holding them in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bfcl.files import storage
from bfcl.records.ids import TaskId


class RowShelf:
    """Lines of benchmark rows by id, kept in a nameless file beside the tables. A context manager.

    Raises StageError `storage_failed` where the disk refuses, KeyError for a row that was never put there.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with storage(directory):
            self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - closed on exit
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def put(self, task_id: TaskId, line: bytes) -> None:
        """Keep a row in its `encode_row` form."""
        with storage(self._directory):
            self._file.seek(self._end)
            self._file.write(line)
        self._places[task_id] = (self._end, len(line))
        self._end += len(line)

    def take(self, task_id: TaskId) -> bytes:
        """A row's line as it was put there."""
        start, size = self._places[task_id]
        with storage(self._directory):
            self._file.seek(start)
            return self._file.read(size)

    def __enter__(self) -> RowShelf:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
