"""How is a file kept that is its owner's alone, and that several processes append to? Rule: translation.md §13.5.

Whoever appends holds a lock file beside it. What it refuses is told with the code of the file it serves.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from bfcl.errors import BfclError, Problem
from bfcl.files import storage, sync_dir

_SYSTEM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Of these no file is to blame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile:
    """A file of mode 0600, which may be absent, and the words in which its faults are told."""

    path: Path
    error: type[BfclError]
    code: str
    """Of a file that cannot be used."""
    remedy: str

    def problem(self, line: int | None, message: str) -> Problem:
        """What is wrong with the file, or with a line of it."""
        return Problem(code=self.code, path=str(self.path), line=line, message=message, fix=self.remedy)

    def refuse(self, line: int | None, message: str) -> NoReturn:
        """Raises: the file's error, with that one problem."""
        raise self.error(self.problem(line, message))

    def open(self, flags: int) -> int | None:
        """A descriptor; None where the file is absent and not to be made.

        Raises: the file's error for a link and for what cannot be opened; StageError `storage_failed`; OSError where
        the system opens nothing more.
        """
        try:
            if flags & os.O_CREAT and not self.path.exists():
                with storage(self.path):
                    descriptor = os.open(self.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
                    sync_dir(self.path.parent)
                return descriptor
            # Without waiting: what is no file at all, a pipe say, is refused by whoever reads it.
            return os.open(self.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in _SYSTEM:
                raise
            link = error.errno == errno.ELOOP
            self.refuse(None, "is a symbolic link" if link else f"cannot be opened: {error.strerror}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other process appends, and keep others waiting.

        Raises: the file's error where others than its owner may open the lock; StageError `storage_failed`.
        """
        import fcntl

        path = self.path.with_name(f".{self.path.name}.lock")
        with storage(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                raise self.error(
                    Problem(
                        code=self.code,
                        path=str(path),
                        message="others than its owner may open this lock file; expected mode 0600",
                        fix=f"chmod 600 {path}",
                    )
                )
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def append(self, descriptor: int, data: bytes) -> None:
        """Write at the end and bring it to the disk; where that fails, the file is left as it was.

        Raises: StageError `storage_failed`.
        """
        with storage(self.path):
            before = os.fstat(descriptor).st_size
            left = memoryview(data)
            try:
                while left:
                    left = left[os.write(descriptor, left) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, before)
                raise
