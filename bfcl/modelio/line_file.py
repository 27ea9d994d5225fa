"""How far is an append-only file of lines read, and what stands at a place of it? Rule: translation.md §13.5, §13.6.

The engine of every record of replies. What a line says, and what becomes of one that a killed process left unfinished,
is its reader's: `RoleCache` mends its file by taking that away, `AppendLog` refuses it and mends nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from bfcl.files import storage
from bfcl.modelio.own_file import OwnFile


class Place(NamedTuple):
    """Where something stands: `line` from 1, `start` and `size` in bytes."""

    line: int
    start: int
    size: int


class LineFile:
    """One file, which may be absent, as far as it was counted in; everything raises the error of its `OwnFile`."""

    def __init__(self, own: OwnFile) -> None:
        self._own = own
        self._end = 0
        self._line = 0
        self._inode: int | None = None

    @contextmanager
    def reading(self) -> Iterator[int | None]:
        """A descriptor to read from, None where the file is absent."""
        descriptor = self._own.open(os.O_RDONLY)
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    @contextmanager
    def appending(self) -> Iterator[int]:
        """A descriptor to append with, while no other process does; the file is made where it is absent.

        Raises also: StageError `storage_failed`.
        """
        with self._own.locked():
            descriptor = self._own.open(os.O_RDWR | os.O_CREAT | os.O_APPEND)
            assert descriptor is not None
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def fresh(self, descriptor: int) -> Iterator[bytes]:
        """The lines behind those that are counted in, of which the last may lack its line feed."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            self._own.refuse(None, "is no regular file")
        if self._inode not in (None, status.st_ino) or status.st_size < self._end:
            self._own.refuse(None, "was replaced or cut short while it was in use")
        self._inode = status.st_ino
        if status.st_size > self._end:
            with os.fdopen(os.dup(descriptor), "rb") as stream:
                stream.seek(self._end)
                yield from stream

    def place(self, data: bytes) -> Place:
        """Where bytes stand, or are about to, that come right behind what is counted in."""
        return Place(self._line + 1, self._end, len(data))

    def count(self, data: bytes) -> Place:
        """Count whole lines in."""
        place = self.place(data)
        self._end += len(data)
        self._line += data.count(b"\n")
        return place

    def bytes_at(self, place: Place) -> bytes:
        """What stands at a place now."""
        with self.reading() as descriptor:
            if descriptor is None:
                self._own.refuse(None, "vanished while it was in use")
            return os.pread(descriptor, place.size, place.start)

    def append(self, descriptor: int, data: bytes) -> None:
        """Write behind everything, and bring it to the disk. It is not counted in. Raises: StageError."""
        self._own.append(descriptor, data)

    def cut(self, descriptor: int) -> None:
        """Take away what stands behind the lines that are counted in. Raises: StageError `storage_failed`."""
        with storage(self._own.path):
            os.ftruncate(descriptor, self._end)
