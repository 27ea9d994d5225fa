"""Writing that survives a crash, and a lock that a dead owner cannot keep."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bfcl import files
from bfcl.errors import DriftError, StageError
from bfcl.files import (
    AlreadyThereError,
    Lock,
    abandoned_siblings,
    create_files,
    held_directory,
    make_directories,
    remove_whole,
    replace_atomic,
    storage,
    sync_dir,
    sync_file,
    temporary_directory,
    write_atomic,
    write_synced,
)

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
    with pytest.raises(OSError, match="bad"), storage(Path("/some/where")):
        raise OSError(errno.EBADF, "bad")


def test_place_where_no_directory_can_be_made_is_refused() -> None:
    with pytest.raises(StageError) as caught:
        write_atomic(Path("/proc/nowhere/file"), b"")
    assert str(caught.value) == (
        "storage_failed: /proc/nowhere/file: cannot write: No such file or directory\n"
        "  fix: choose a directory that is there and can be written to"
    )


def test_replacing_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    assert replace_atomic(path, b"old", b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


def test_file_that_holds_something_else_by_now_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"edited")
    assert not replace_atomic(path, b"old", b"new")
    assert path.read_bytes() == b"edited"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_directory_is_held_by_one_at_a_time_and_stays_empty(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with held_directory(tmp_path):
            order.append("second")

    with held_directory(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        # It could go on at once if nothing kept it out.
        thread.join(0.05)
        order.append("first")
        assert list(tmp_path.iterdir()) == []
    thread.join()
    assert order == ["first", "second"]


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


def below(root: Path) -> dict[str, bytes | None]:
    """Every file and directory below `root`; None for a directory."""
    paths = sorted(root.rglob("*"))
    return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in paths}


def test_created_files_come_with_the_directories_they_need(tmp_path: Path) -> None:
    create_files(tmp_path / "a", {"one": b"1", "b/two": b"2"})
    assert below(tmp_path) == {"a": None, "a/b": None, "a/b/two": b"2", "a/one": b"1"}


def test_file_that_is_there_is_named_and_kept_and_nothing_else_created(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"theirs")
    with pytest.raises(AlreadyThereError) as caught:
        create_files(tmp_path, {"a/one": b"1", "b": b"2"})
    assert caught.value.path == tmp_path / "b"
    assert below(tmp_path) == {"b": b"theirs"}


def test_link_that_leads_nowhere_is_there_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "b").symlink_to("gone")
    with pytest.raises(AlreadyThereError):
        create_files(tmp_path, {"b": b"2"})
    assert not (tmp_path / "gone").exists()


def test_file_where_a_directory_must_be_is_a_storage_refusal(tmp_path: Path) -> None:
    (tmp_path / "wall").write_bytes(b"")
    with pytest.raises(StageError) as caught:
        create_files(tmp_path, {"a": b"1", "wall/b": b"2"})
    assert str(caught.value) == (
        f"storage_failed: {tmp_path / 'wall' / 'b'}: cannot write: File exists\n"
        "  fix: free space or make the directory writable, then run the same command again"
    )
    assert below(tmp_path) == {"wall": b""}


def test_disk_that_fills_up_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = files.write_synced

    def full(path: Path, data: bytes, *, shown: Path | None = None, mode: int = 0o644) -> None:
        with storage(shown or path):
            if data == b"2":
                raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data, shown=shown, mode=mode)

    monkeypatch.setattr(files, "write_synced", full)
    with pytest.raises(StageError, match="storage_failed"):
        create_files(tmp_path / "new", {"a": b"1", "b/c": b"2"})
    assert below(tmp_path) == {}


def test_directories_made_are_removed_by_undo_and_those_that_were_there_stay(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with ExitStack() as undo:
        make_directories(tmp_path / "a" / "b" / "c", undo)
        assert (tmp_path / "a" / "b" / "c").is_dir()
    assert below(tmp_path) == {"a": None}


def test_temporary_directory_names_its_process_and_purpose_and_is_gone_afterwards(temporary: Path) -> None:
    with temporary_directory("view") as directory:
        assert Path(directory).parent == temporary
        assert Path(directory).name.startswith(f"bfcl-{os.getpid()}-view-")
    assert list(temporary.iterdir()) == []


def test_temporary_directory_without_a_place_is_refused(temporary: Path) -> None:
    temporary.rmdir()
    with pytest.raises(StageError) as caught:
        temporary_directory("view")
    assert str(caught.value) == (
        f"storage_failed: {temporary}: cannot write: No such file or directory\n"
        "  fix: choose a directory that is there and can be written to"
    )


def test_remove_whole_takes_files_directories_and_links_but_never_what_a_link_names(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    (kept / "below").mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "directory" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "directory", "link", "dangling", "absent"):
        remove_whole(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "below").is_dir()


def test_sibling_of_a_process_that_is_no_more_is_abandoned_and_that_of_a_live_one_is_not(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    with holder(tmp_path / "lock") as alive:
        for process in (gone.pid, alive.pid, os.getpid(), os.getppid(), 10**9):
            (tmp_path / f".render.json.{process}-0123456789ab").touch()
        others = ["render.json", f".render.json.{gone.pid}", f".{gone.pid}-0123456789ab", ".views.json", "lock"]
        for name in others:
            (tmp_path / name).touch()
        abandoned = {path.name for path in abandoned_siblings(tmp_path)}
    assert abandoned == {f".render.json.{process}-0123456789ab" for process in (gone.pid, os.getpid(), 10**9)}
    assert abandoned_siblings(tmp_path / "absent") == []


def test_temporary_sibling_of_a_killed_write_is_found_as_abandoned(tmp_path: Path) -> None:
    path = tmp_path / "render.json"
    code = (
        "import os, signal, sys; from pathlib import Path; import bfcl.files as f\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "f.write_atomic(Path(sys.argv[1]), b'x')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert abandoned_siblings(tmp_path) == list(tmp_path.iterdir())
    assert len(abandoned_siblings(tmp_path)) == 1


def test_lock_that_is_withdrawn_leaves_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    lock = Lock(tmp_path / "there" / "new" / "deep" / ".lock", "busy")
    for _ in range(2):
        lock.acquire()
        lock.withdraw()
        lock.withdraw()
        assert below(tmp_path) == {"there": None}
    lock.acquire()
    (tmp_path / "there" / "new" / "kept").touch()
    lock.withdraw()
    assert below(tmp_path) == {"there": None, "there/new": None, "there/new/kept": b""}
    old = Lock(tmp_path / "there" / ".lock", "busy")
    old.acquire()
    old.release()
    old.acquire()
    old.withdraw()
    assert (tmp_path / "there" / ".lock").read_bytes() == b""


def test_lock_of_another_that_stands_where_ours_was_deleted_is_not_withdrawn(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    ours, theirs = Lock(path, "busy"), Lock(path, "busy")
    ours.acquire()
    path.unlink()
    theirs.acquire()
    ours.withdraw()
    with pytest.raises(DriftError, match="run_locked"):
        Lock(path, "busy").acquire()
    theirs.release()


def test_lock_that_was_withdrawn_can_be_taken_anew_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    first, second = Lock(path, "busy"), Lock(path, "busy")
    first.acquire()
    first.withdraw()
    second.acquire()
    with pytest.raises(DriftError, match="run_locked"):
        first.acquire()
    first.withdraw()
    assert path.is_file()
    second.release()
    first.acquire()
    first.withdraw()
    assert path.is_file()
