"""Writing that survives a crash, and a lock that a dead owner cannot keep."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bfcl import files
from bfcl.errors import DriftError, StageError
from bfcl.files import Lock, storage, sync_dir, sync_file, write_atomic, write_synced

HOLDER = """
import sys
from pathlib import Path
from bfcl.files import Lock
Lock(Path(sys.argv[1]), "busy").acquire()
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    root = str(Path(files.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("write", [write_atomic, write_synced])
def test_written_file_is_readable_by_all_under_any_umask(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    with umask(0o077):
        write(tmp_path / "file", b"bytes")
    assert (tmp_path / "file").read_bytes() == b"bytes"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


def test_atomic_write_makes_directories_and_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert [one.name for one in path.parent.iterdir()] == ["file"]


def test_atomic_write_that_fails_keeps_the_old_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"one")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StageError) as caught:
        write_atomic(path, b"two")
    assert str(caught.value) == (
        f"storage_failed: {path}: cannot write: No space left on device\n"
        "  fix: free space or make the directory writable, then run the same command again"
    )
    assert path.read_bytes() == b"one"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG, errno.EIO])
def test_storage_refusals_of_the_system_are_told(number: int) -> None:
    with pytest.raises(StageError) as caught, storage(Path("/some/where")):
        raise OSError(number, os.strerror(number))
    (problem,) = caught.value.problems
    assert problem.code == "storage_failed"
    assert problem.subject == "/some/where"
    assert problem.message == f"cannot write: {os.strerror(number)}"


def test_other_errors_of_the_system_are_bugs() -> None:
    with pytest.raises(FileNotFoundError), storage(Path("/some/where")):
        raise FileNotFoundError(errno.ENOENT, "gone")


def test_syncing_what_is_not_there_says_so(tmp_path: Path) -> None:
    sync_dir(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    sync_file(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        sync_dir(tmp_path / "absent")
    with pytest.raises(NotADirectoryError):
        sync_dir(tmp_path / "file")


def test_lock_of_another_process_is_refused_at_once_naming_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / ".lock"
    with holder(path) as process:
        with pytest.raises(DriftError) as caught:
            Lock(path, "another process is at work").acquire()
        assert str(caught.value) == (
            f"run_locked: another process is at work (process {process.pid})\n"
            "  fix: wait for that process to end, or stop it"
        )


def test_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holder(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert path.read_text() == f"{process.pid}\n"
        lock = Lock(path, "busy")
        lock.acquire()
        assert path.read_text() == f"{os.getpid()}\n"
        lock.release()


def test_released_lock_can_be_taken_again_and_the_file_stays_empty(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    lock = Lock(path, "busy")
    lock.release()
    for _ in range(2):
        lock.acquire()
        with pytest.raises(DriftError, match="run_locked"):
            Lock(path, "busy").acquire()
        lock.release()
        lock.release()
        assert path.read_bytes() == b""


def test_lock_whose_owner_is_unknown_is_refused_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holder(path):
        path.write_bytes(b"")
        with pytest.raises(DriftError, match=r"busy \(process unknown\)"):
            Lock(path, "busy").acquire()


def test_lock_is_not_inherited_by_programs_started_under_it(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    lock = Lock(path, "busy")
    lock.acquire()
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        lock.release()
        again = Lock(path, "busy")
        again.acquire()
        again.release()
        child.kill()
