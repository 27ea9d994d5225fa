"""How bytes reach the disk: temp file, fsync, rename; and the lock that one writer holds."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from bfcl.errors import BfclError, DriftError, Problem, StageError

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
        errno.ENOENT,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)

_SIBLING: Final = re.compile(r"\..+\.(?P<process>[1-9][0-9]{0,9})-[0-9a-f]{12}")

_ROOM: Final = "free space or make the directory writable, then run the same command again"
_ELSEWHERE: Final = "choose a directory that is there and can be written to"


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
                fix=_ELSEWHERE if error.errno == errno.ENOENT else _ROOM,
            )
        ) from error


def refuse_illegible(path: Path, what: str, error: type[BfclError], code: str) -> None:
    """Refuse a path that cannot be written down as text, or not be asked for, under this locale.

    A name may hold any bytes; under a locale of another encoding even a good one cannot be read.
    """
    name = str(path)
    try:
        name.encode()
        os.fsencode(name)
    except UnicodeEncodeError:
        told = name.encode(errors="backslashreplace").decode()
        message = f"`{told}`, {what}, is no text in the encoding of this locale"
        fix = "set a UTF-8 locale, such as LC_ALL=C.UTF-8; a name that is no UTF-8 itself has to be changed"
        raise error(Problem(code=code, message=message, fix=fix)) from None


def abandon(stream: TextIO) -> None:
    """Lead a stream to the null device: the interpreter flushes it once more at exit and would complain there."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


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


def write_synced(path: Path, data: bytes, *, shown: Path | None = None, mode: int = 0o644) -> None:
    """Create `path` with its mode under any umask and fsync its bytes; the caller renames its directory.

    Raises: StageError `storage_failed` naming `shown`, the file it will become, if that has another name.
    """
    with storage(shown or path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a temporary sibling, fsync, rename over `path`. Raises StageError `storage_failed`."""
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_sibling(path)
        try:
            write_synced(temporary, data, shown=path, mode=mode)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_dir(path.parent)


def temporary_sibling(path: Path) -> Path:
    """A name beside `path` that nobody has, for what will replace it: `.<name>.<process>-<random>`.

    The name says whose it is, so that `abandoned_siblings` finds what a killed process left.
    """
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(6)}")


def abandoned_siblings(directory: Path) -> list[Path]:
    """Temporary siblings in a directory whose process is no more, sorted.

    Those of this very process count too: call it where none of its threads writes there. In a container every run may
    have the number of the one that was killed.
    """
    if not directory.is_dir():
        return []
    found = [(path, _SIBLING.fullmatch(path.name)) for path in directory.iterdir()]
    return sorted(path for path, named in found if named is not None and not _is_another(int(named["process"])))


def _is_another(process: int) -> bool:
    """Whether a process other than this one runs under that number."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        # Somebody else's, which is no less alive.
        return True
    return True


def replace_atomic(path: Path, seen: bytes, data: bytes) -> bool:
    """Give a file new bytes at once and keep its mode, unless it no longer holds what was `seen`: then False.

    Raises: StageError `storage_failed`.
    """
    with storage(path):
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.read_bytes() != seen:
            return False
    write_atomic(path, data, mode=mode)
    return True


def remove_whole(path: Path) -> None:
    """Delete a directory with all it holds, a file, or a link itself and never what it names; absent is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def held_directory(path: Path) -> Iterator[None]:
    """Wait until nobody else holds this directory, then hold it; no file is written for that.

    Where the file system locks no directories, nothing is held: whoever writes compares before (`replace_atomic`).
    """
    import fcntl

    with storage(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def temporary_directory(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """A directory for this process alone, named `bfcl-<process>-<purpose>-...`.

    The name lets a later process see whose it is, and clear it away where its owner was killed.
    Raises: StageError `storage_failed`.
    """
    with storage(Path(tempfile.gettempdir())):
        return tempfile.TemporaryDirectory(prefix=f"bfcl-{os.getpid()}-{purpose}-", ignore_cleanup_errors=True)


class AlreadyThereError(Exception):
    """Something stands at `path`, where a file was to be created. Callers tell it in their own words."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


def make_directories(path: Path, undo: ExitStack) -> None:
    """`mkdir -p`, each directory made to be removed by `undo`."""
    if path.is_dir():
        return
    make_directories(path.parent, undo)
    try:
        path.mkdir()
    except FileExistsError:
        # Made by somebody else meanwhile, and theirs to remove.
        if not path.is_dir():
            raise
    else:
        undo.callback(path.rmdir)


def create_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Create every file, by its path below `directory`, and the directories they need: all of it or nothing.

    Raises: AlreadyThereError where something is at a file's path, which is left as it is; StageError `storage_failed`.
    """
    with ExitStack() as undo:
        for path in (directory / name for name in files):
            with storage(path):
                make_directories(path.parent, undo)
                _claim(path)
                undo.callback(path.unlink, missing_ok=True)
        for name, data in files.items():
            write_atomic(directory / name, data)
        undo.pop_all()


def _claim(path: Path) -> None:
    """Create an empty file, so that whoever comes second fails and nobody's bytes are replaced."""
    try:
        path.open("xb").close()
    except FileExistsError:
        raise AlreadyThereError(path) from None


class Lock:
    """An exclusive lock file naming its owner's PID; a dead owner's lock is taken over.

    The kernel's flock decides, so a killed owner never blocks; the PID inside is for the message alone.
    """

    def __init__(self, path: Path, busy: str) -> None:
        self.path = path
        self._busy = busy
        self._descriptor: int | None = None
        self._made = ExitStack()
        """Removes the file and the directories that `acquire` made."""

    def acquire(self) -> None:
        """Take the lock or raise DriftError `run_locked` at once, naming the holder's PID."""
        import fcntl

        while True:
            with storage(self.path):
                self._make_room()
                if not os.path.lexists(self.path):
                    self._made.callback(self.path.unlink, missing_ok=True)
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
                self._made.pop_all()
                raise DriftError(
                    Problem(
                        code="run_locked",
                        message=f"{self._busy} (process {holder or 'unknown'})",
                        fix="wait for that process to end, or stop it",
                    )
                ) from None
            except BaseException:
                os.close(descriptor)
                self._made.pop_all()
                raise
            # Somebody deleted the file between opening and locking it: that lock would keep nobody out.
            os.close(descriptor)

    def _make_room(self) -> None:
        try:
            make_directories(self.path.parent, self._made)
        except FileExistsError:
            # A file stands in the way; the system says at which depth.
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the lock back; the file stays, so that nobody who waits to open it has to begin again."""
        if self._descriptor is not None:
            self._made.pop_all()
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None

    def withdraw(self) -> None:
        """Give the lock back as if it had never been taken: what `acquire` made goes, but for directories in use.

        Whoever opened the file meanwhile sees, once it has the lock, that this is no longer the file at the path.
        """
        # Where somebody deleted the file, what stands there now is the lock of another.
        if self._descriptor is not None and self._is_at_path(self._descriptor):
            with suppress(OSError):
                self._made.close()
        self.release()
