"""Results that replace no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import EvalError, StageError
from bfcl.evaluate.after.write_once import ELSEWHERE, write_once


def test_write_once_makes_the_directories_that_are_missing(tmp_path: Path) -> None:
    write_once({tmp_path / "a" / "b.md": b"one"}, fix=ELSEWHERE)
    assert (tmp_path / "a" / "b.md").read_bytes() == b"one"


def test_write_once_leaves_equal_files_and_adds_the_missing_one(tmp_path: Path) -> None:
    equal, missing = tmp_path / "a.md", tmp_path / "b.md"
    equal.write_bytes(b"one")
    before = equal.stat()
    write_once({equal: b"one", missing: b"two"}, fix=ELSEWHERE)
    assert (equal.stat().st_ino, equal.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert missing.read_bytes() == b"two"


def test_write_once_names_everything_that_is_another_and_writes_nothing(tmp_path: Path) -> None:
    file, directory, link = tmp_path / "a.md", tmp_path / "b.md", tmp_path / "c.md"
    file.write_bytes(b"mine")
    directory.mkdir()
    link.symlink_to("nowhere")
    with pytest.raises(EvalError) as refused:
        write_once(dict.fromkeys((file, directory, link, tmp_path / "d.md"), b"one"), fix=ELSEWHERE)
    assert [str(problem) for problem in refused.value.problems] == [
        f"eval_cli_artifact_conflict: {path}: is there and says something else\n"
        "  fix: move it away, or choose another --out"
        for path in (file, directory, link)
    ]
    assert not (tmp_path / "d.md").exists()
    assert file.read_bytes() == b"mine"


def test_write_once_under_a_file_is_a_refusal_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(StageError) as refused:
        write_once({tmp_path / "taken" / "sub" / "a.md": b"one"}, fix=ELSEWHERE)
    assert [str(problem) for problem in refused.value.problems] == [
        f"storage_failed: {tmp_path}/taken/sub/a.md: cannot write: Not a directory\n"
        "  fix: free space or make the directory writable, then run the same command again"
    ]
