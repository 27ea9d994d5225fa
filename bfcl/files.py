"""How bytes reach the disk: temp file, fsync, rename; and the lock that one writer holds."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bfcl.errors import DriftError, Problem, StageError

_STORAGE_ERRNOS = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EEXIST,
        errno.EFBIG,
        errno.EIO,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn an operating-system refusal to write at `path` (full disk, read-only directory) into `storage_failed`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _STORAGE_ERRNOS:
            raise
        raise StageError(
            Problem(
                code="storage_failed",
                subject=str(path),
                message=f"cannot write: {error.strerror}",
                fix="free space or make the directory writable, then run the same command again",
            )
        ) from error


def sync_dir(path: Path) -> None:
    """fsync a directory, so that renames inside it survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """fsync one file's bytes."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Bring every file below a directory to the disk, with one call to the kernel where it offers one.

    Hundreds of small files cost one flush instead of one each.
    """
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if syncfs is not None and syncfs(descriptor) == 0:
            return
    finally:
        os.close(descriptor)
    for folder, _, names in os.walk(path):
        for name in names:
            sync_file(Path(folder) / name)
        sync_dir(Path(folder))


def write_plain(path: Path, data: bytes) -> None:
    """Create `path` with mode 0644 under any umask; whoever makes it count syncs it first (`sync_tree`)."""
    with storage(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), 0o644)
            stream.write(data)


def write_synced(path: Path, data: bytes, *, shown: Path | None = None) -> None:
    """Create `path` with mode 0644 under any umask and fsync its bytes; the caller renames its directory.

    Raises: StageError `storage_failed` naming `shown`, the file it will become, if that has another name.
    """
    with storage(shown or path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), 0o644)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())


def write_atomic(path: Path, data: bytes) -> None:
    """Write a temporary sibling, fsync, rename over `path`. Raises StageError `storage_failed`."""
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            write_synced(temporary, data, shown=path)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_dir(path.parent)


class Lock:
    """An exclusive lock file naming its owner's PID; a dead owner's lock is taken over.

    The kernel's flock decides, so a killed owner never blocks; the PID inside is for the message alone.
    """

    def __init__(self, path: Path, busy: str) -> None:
        self.path = path
        self._busy = busy
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock or raise DriftError `run_locked` at once, naming the holder's PID."""
        import fcntl

        while True:
            with storage(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                with storage(self.path):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if self._is_at_path(descriptor):
                        os.ftruncate(descriptor, 0)
                        os.write(descriptor, f"{os.getpid()}\n".encode())
                        self._descriptor = descriptor
                        return
            except BlockingIOError:
                holder = os.read(descriptor, 64).decode("ascii", "replace").strip()
                os.close(descriptor)
                raise DriftError(
                    Problem(
                        code="run_locked",
                        message=f"{self._busy} (process {holder or 'unknown'})",
                        fix="wait for that process to end, or stop it",
                    )
                ) from None
            except BaseException:
                os.close(descriptor)
                raise
            # Somebody deleted the file between opening and locking it: that lock would keep nobody out.
            os.close(descriptor)

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the lock back; the file stays, since unlinking it would let two owners in."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None
