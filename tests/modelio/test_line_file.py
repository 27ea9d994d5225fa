"""A file of lines is read once, from where it was read to, and never but as the file that it was."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import ModelError
from bfcl.modelio.line_file import LineFile, Place
from bfcl.modelio.own_file import OwnFile

CODE = "model_io_cache_invalid"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def opened(path: Path) -> LineFile:
    return LineFile(OwnFile(path=path, error=ModelError, code=CODE, remedy="mend it"))


def taken(lines: LineFile) -> list[Place]:
    """Where the fresh lines stand, each counted in."""
    with lines.reading() as descriptor:
        assert descriptor is not None
        return [lines.count(data) for data in lines.fresh(descriptor)]


def refused(lines: LineFile) -> str:
    with pytest.raises(ModelError) as refusal:
        taken(lines)
    (problem,) = refusal.value.problems
    return str(problem)


def test_absent_file_has_nothing_to_read_and_is_made_by_appending(path: Path) -> None:
    lines = opened(path)
    with lines.reading() as descriptor:
        assert descriptor is None
    with lines.appending() as appended:
        lines.append(appended, b"one\n")
    assert path.read_bytes() == b"one\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert taken(lines) == [Place(line=1, start=0, size=4)]


def test_lines_are_fresh_once_and_count_from_where_the_last_ended(path: Path) -> None:
    path.write_bytes(b"one\ntwo\n")
    lines = opened(path)
    assert taken(lines) == [Place(line=1, start=0, size=4), Place(line=2, start=4, size=4)]
    assert taken(lines) == []
    with path.open("ab") as stream:
        stream.write(b"three\n")
    assert lines.place(b"three\n") == Place(line=3, start=8, size=6)
    assert taken(lines) == [Place(line=3, start=8, size=6)]


def test_several_lines_are_counted_in_at_once(path: Path) -> None:
    lines = opened(path)
    assert lines.count(b"a\nb\nc\n") == Place(line=1, start=0, size=6)
    assert lines.place(b"d") == Place(line=4, start=6, size=1)


def test_line_that_is_not_counted_in_is_fresh_again_and_can_be_cut(path: Path) -> None:
    path.write_bytes(b"one\nhal")
    lines = opened(path)
    with lines.appending() as descriptor:
        first, tail = lines.fresh(descriptor)
        lines.count(first)
        assert [*lines.fresh(descriptor)] == [tail] == [b"hal"]
        lines.cut(descriptor)
    assert path.read_bytes() == b"one\n"


@given(st.lists(st.binary(max_size=8).map(lambda text: text.replace(b"\n", b"") + b"\n"), max_size=8))
def test_what_stands_at_a_place_is_the_line_that_was_read_there(texts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "log.jsonl"
        path.write_bytes(b"".join(texts))
        lines = opened(path)
        assert [lines.bytes_at(place) for place in taken(lines)] == texts


def test_file_that_was_replaced_or_cut_short_is_refused(path: Path) -> None:
    path.write_bytes(b"one\ntwo\n")
    lines = opened(path)
    taken(lines)
    message = f"{path}: {CODE}: was replaced or cut short while it was in use\n  fix: mend it"
    os.truncate(path, 4)
    assert refused(lines) == message
    other = path.with_name("other")
    other.write_bytes(b"one\ntwo\nthree\n")
    other.replace(path)
    assert refused(lines) == message


def test_what_is_no_file_is_refused(path: Path) -> None:
    path.mkdir()
    assert refused(opened(path)) == f"{path}: {CODE}: is no regular file\n  fix: mend it"


def test_place_in_a_file_that_vanished_is_refused(path: Path) -> None:
    path.write_bytes(b"one\n")
    lines = opened(path)
    (place,) = taken(lines)
    path.unlink()
    with pytest.raises(ModelError) as refusal:
        lines.bytes_at(place)
    assert [str(problem) for problem in refusal.value.problems] == [
        f"{path}: {CODE}: vanished while it was in use\n  fix: mend it"
    ]
