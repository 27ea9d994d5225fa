"""A file of replies may grow; whatever else happens to it is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.graph.recordings import recorded_so_far, still_recorded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "role_io_cache.jsonl"


def test_absent_file_is_empty_text_and_whatever_comes_is_fine(path: Path) -> None:
    assert recorded_so_far(path) == ""
    assert still_recorded(path, "")
    path.write_bytes(b"a\n")
    assert still_recorded(path, "")


def test_growth_is_fine_and_anything_else_is_not(path: Path) -> None:
    start = b"x" * (1 << 20) + b"\n"
    path.write_bytes(start)
    before = recorded_so_far(path)
    assert before.split()[0] == str(len(start))
    assert still_recorded(path, before)
    path.write_bytes(start + b"more\n")
    assert still_recorded(path, before)
    for other in (start[:-1], b"y" + start[1:], b""):
        path.write_bytes(other)
        assert not still_recorded(path, before)
    path.unlink()
    assert not still_recorded(path, before)


@pytest.mark.parametrize("before", ["nonsense", "-1 x", "² x"])
def test_misshapen_record_fits_nothing(path: Path, before: str) -> None:
    path.write_bytes(b"a\n")
    assert not still_recorded(path, before)
