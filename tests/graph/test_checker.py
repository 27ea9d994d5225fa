"""How doit compares files: by content alone."""

from __future__ import annotations

import os
from pathlib import Path

from bfcl.digest import blake3_of
from bfcl.graph.checker import Blake3Checker


def test_state_is_the_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    checker = Blake3Checker()
    state = checker.get_state(str(path), None)
    assert state == blake3_of(b"abc")
    assert not checker.check_modified(str(path), path.stat(), state)


def test_edit_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    before = path.stat()
    checker = Blake3Checker()
    state = checker.get_state(str(path), None)
    path.write_bytes(b"abd")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert checker.check_modified(str(path), path.stat(), state)


def test_touch_is_not_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    checker = Blake3Checker()
    state = checker.get_state(str(path), None)
    os.utime(path, (1, 1))
    assert not checker.check_modified(str(path), path.stat(), state)
