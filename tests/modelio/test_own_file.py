"""A file that is its owner's alone: its mode, its links, its lock, and appends that leave nothing half done."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bfcl.errors import BfclError, ModelError, StageError
from bfcl.modelio.own_file import OwnFile


@pytest.fixture
def own(tmp_path: Path) -> OwnFile:
    return OwnFile(path=tmp_path / "calls.jsonl", error=ModelError, code="cache_invalid", remedy="start a new file")


@pytest.fixture
def wide_open() -> Iterator[None]:
    """Nothing is taken from the mode that a file is made with."""
    before = os.umask(0)
    yield
    os.umask(before)


def refused(act: Callable[[], object], error: type[BfclError] = ModelError) -> str:
    with pytest.raises(error) as refusal:
        act()
    (problem,) = refusal.value.problems
    return str(problem)


def lock_of(own: OwnFile) -> Path:
    return own.path.with_name(".calls.jsonl.lock")


def is_held(path: Path) -> bool:
    """Whether another open file cannot have the lock."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


# --- opening ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("wide_open")
def test_file_is_made_for_its_owner_alone_whatever_the_umask(own: OwnFile) -> None:
    descriptor = own.open(os.O_RDWR | os.O_CREAT)
    assert descriptor is not None
    os.close(descriptor)
    assert own.path.stat().st_mode & 0o777 == 0o600


def test_absent_file_that_is_not_to_be_made_has_no_descriptor(own: OwnFile) -> None:
    assert own.open(os.O_RDONLY) is None
    assert not own.path.exists()


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT], ids=["read", "append"])
def test_link_is_refused_and_not_followed(own: OwnFile, flags: int) -> None:
    target = own.path.with_name("elsewhere")
    target.write_bytes(b"kept")
    own.path.symlink_to(target)
    assert refused(lambda: own.open(flags)) == (
        f"{own.path}: cache_invalid: is a symbolic link\n  fix: start a new file"
    )
    assert target.read_bytes() == b"kept"


def test_directory_is_refused_with_what_the_system_says(own: OwnFile) -> None:
    own.path.mkdir()
    assert refused(lambda: own.open(os.O_RDWR)) == (
        f"{own.path}: cache_invalid: cannot be opened: Is a directory\n  fix: start a new file"
    )


def test_system_that_opens_nothing_more_is_not_told_as_a_fault_of_the_file(own: OwnFile) -> None:
    own.path.write_bytes(b"kept")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            own.open(os.O_RDWR)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_pipe_is_opened_without_waiting_for_a_writer(own: OwnFile) -> None:
    os.mkfifo(own.path)
    descriptor = own.open(os.O_RDONLY)
    assert descriptor is not None
    os.close(descriptor)


def test_fault_of_a_line_is_told_with_its_number(own: OwnFile) -> None:
    assert refused(lambda: own.refuse(3, "is no JSON")) == (
        f"{own.path}:3: cache_invalid: is no JSON\n  fix: start a new file"
    )


# --- the lock -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("wide_open")
def test_lock_is_the_owners_and_held_until_the_end(own: OwnFile) -> None:
    with own.locked():
        assert lock_of(own).stat().st_mode & 0o777 == 0o600
        assert is_held(lock_of(own))
    assert not is_held(lock_of(own))


def test_lock_is_given_back_when_the_holder_fails(own: OwnFile) -> None:
    with pytest.raises(ZeroDivisionError), own.locked():
        raise ZeroDivisionError
    assert not is_held(lock_of(own))


@pytest.mark.parametrize("mode", [0o640, 0o606])
def test_lock_that_others_may_open_is_refused(own: OwnFile, mode: int) -> None:
    path = lock_of(own)
    path.touch()
    path.chmod(mode)
    assert refused(lambda: own.locked().__enter__()) == (
        f"{path}: cache_invalid: others than its owner may open this lock file; expected mode 0600\n"
        f"  fix: chmod 600 {path}"
    )
    assert not is_held(path)


def test_lock_that_is_a_link_is_not_followed(own: OwnFile) -> None:
    lock_of(own).symlink_to(own.path)
    assert "storage_failed" in refused(lambda: own.locked().__enter__(), StageError)
    assert not own.path.exists()


# --- appending ----------------------------------------------------------------------------------------------------


def test_append_writes_everything_even_where_the_system_takes_it_in_parts(
    own: OwnFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write
    descriptor = own.open(os.O_RDWR | os.O_CREAT | os.O_APPEND)
    assert descriptor is not None
    monkeypatch.setattr(os, "write", lambda to, data: whole(to, data[:2]))
    own.append(descriptor, b"one line\n")
    own.append(descriptor, b"another\n")
    os.close(descriptor)
    assert own.path.read_bytes() == b"one line\nanother\n"


def test_append_that_fails_leaves_the_file_as_it_was(own: OwnFile, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    descriptor = own.open(os.O_RDWR | os.O_CREAT | os.O_APPEND)
    assert descriptor is not None
    own.append(descriptor, b"one line\n")
    parts = iter([3])

    def full(to: int, data: bytes) -> int:
        size = next(parts, None)
        if size is None:
            raise OSError(28, "No space left on device")
        return whole(to, data[:size])

    monkeypatch.setattr(os, "write", full)
    told = refused(lambda: own.append(descriptor, b"another\n"), StageError)
    os.close(descriptor)
    assert "storage_failed" in told
    assert "No space left on device" in told
    assert own.path.read_bytes() == b"one line\n"
