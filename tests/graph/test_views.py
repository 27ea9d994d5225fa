"""The readable copies in `stage_cache/`: made, recognised, and never overwritten where a person edited them."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bfcl.digest import blake3_file
from bfcl.errors import DriftError
from bfcl.graph.views import Views


@pytest.fixture
def views(tmp_path: Path) -> Views:
    return Views(tmp_path / "stage_cache")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "stored"
    path.write_bytes(b"rows")
    return path


def names(views: Views) -> list[str]:
    return sorted(path.name for path in views.directory.iterdir())


def test_copy_equals_its_source_and_passes(views: Views, source: Path) -> None:
    before = os.umask(0o077)
    try:
        views.copy({"table": source})
    finally:
        os.umask(before)
    assert (views.directory / "table").read_bytes() == b"rows"
    assert stat.S_IMODE((views.directory / "table").stat().st_mode) == 0o644
    assert names(views) == [".views.json", "table"]
    views.check(dict.fromkeys(["table", "never made"]))


def test_copy_that_is_there_is_left_alone(views: Views, source: Path) -> None:
    views.copy({"table": source})
    before = (views.directory / "table").stat()
    views.copy({"table": source})
    after = (views.directory / "table").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_edited_copies_are_refused_together(views: Views, source: Path) -> None:
    views.copy({"one": source, "two": source, "three": source})
    for name in ("one", "two"):
        (views.directory / name).write_bytes(b"mine")
    with pytest.raises(DriftError) as caught:
        views.check(dict.fromkeys(["one", "two", "three"]))
    assert str(caught.value) == "\n".join(
        f"build_cache_tampered: stage_cache/{name}: has changed since it was written\n"
        f"  fix: delete {views.directory / name}; the next run writes it again"
        for name in ("one", "two")
    )


def test_deleted_copy_is_written_again(views: Views, source: Path) -> None:
    views.copy({"table": source})
    (views.directory / "table").unlink()
    views.check(dict.fromkeys(["table"]))
    views.copy({"table": source})
    assert (views.directory / "table").read_bytes() == b"rows"


@pytest.mark.parametrize("placed", [False, True], ids=["before the copy", "after the copy"])
def test_kill_around_a_copy_leaves_a_state_that_passes(
    views: Views, source: Path, monkeypatch: pytest.MonkeyPatch, placed: bool
) -> None:
    views.copy({"table": source})
    source.write_bytes(b"new rows")
    place = Views._place

    def killed(self: Views, name: str, path: Path) -> None:
        if placed:
            place(self, name, path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Views, "_place", killed)
        with pytest.raises(KeyboardInterrupt):
            views.copy({"table": source})
    views.check(dict.fromkeys(["table"]))
    views.copy({"table": source})
    assert (views.directory / "table").read_bytes() == b"new rows"
    views.check(dict.fromkeys(["table"]))


def test_small_file_is_written_and_watched(views: Views) -> None:
    views.write("report.json", b"{}\n")
    views.check(dict.fromkeys(["report.json"]))
    (views.directory / "report.json").write_bytes(b"[]\n")
    with pytest.raises(DriftError, match=r"stage_cache/report\.json"):
        views.check(dict.fromkeys(["report.json"]))


def test_removed_copies_are_forgotten(views: Views, source: Path) -> None:
    views.copy({"one": source, "two": source})
    views.remove(["one", "never made"])
    (views.directory / "one").write_bytes(b"anything")
    views.check(dict.fromkeys(["one", "two"]))
    assert names(views) == [".views.json", "one", "two"]


def test_nothing_is_made_where_nothing_was(tmp_path: Path) -> None:
    views = Views(tmp_path / "absent")
    views.check(dict.fromkeys(["table"]))
    views.remove(["table"])
    assert not views.directory.exists()


def test_copies_made_by_two_threads_are_all_known(tmp_path: Path) -> None:
    views = Views(tmp_path / "stage_cache")
    sources = {}
    for name in ("one", "two"):
        sources[name] = tmp_path / name
    for turn in range(20):
        for name, path in sources.items():
            path.write_text(f"{name} {turn}")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda item: views.copy({item[0]: item[1]}), sources.items()))
        views.check(dict.fromkeys(sources))
        assert [(views.directory / name).read_text() for name in sources] == [f"{name} {turn}" for name in sources]


def test_copy_is_hashed_once_until_the_file_system_tells_of_a_change(
    views: Views, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views.copy({"table": source})
    views.check(dict.fromkeys(["table"]))
    hashed: list[str] = []

    def counted(path: Path) -> str:
        hashed.append(path.name)
        return blake3_file(path)

    monkeypatch.setattr("bfcl.graph.views.blake3_file", counted)
    for _ in range(3):
        views.check(dict.fromkeys(["table"]))
    assert hashed == []
    before = (views.directory / "table").stat()
    (views.directory / "table").write_bytes(b"rows and more")
    os.utime(views.directory / "table", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DriftError, match="stage_cache/table: has changed since it was written"):
        views.check(dict.fromkeys(["table"]))
    assert hashed == ["table"]
    with pytest.raises(DriftError, match="stage_cache/table: has changed since it was written"):
        Views(views.directory).check(dict.fromkeys(["table"]))
