"""Pointers: what stages say to each other, and to doit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import readable_json
from bfcl.digest import Fingerprint, blake3_json
from bfcl.errors import DriftError
from bfcl.graph.pointers import (
    Pointer,
    Shard,
    read_pointer,
    write_pointer,
)
from bfcl.graph.store import REMEDY, Entry

A, B, C = (Fingerprint(letter * 64) for letter in "abc")
CLEAN = f"\n  fix: {REMEDY}"
POINTER = Pointer(stage="render", fp=A, record_digest=B, shards=(Shard(label="kiln/1", fp=C, digest=A, rows=7),))


def test_pointer_comes_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "refs" / "0123" / "render.json"
    write_pointer(path, POINTER)
    assert read_pointer(path) == POINTER


def test_pointer_that_says_the_same_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "render.json"
    write_pointer(path, POINTER)
    before = path.stat()
    write_pointer(path, POINTER)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_absent_pointer_is_none(tmp_path: Path) -> None:
    assert read_pointer(tmp_path / "render.json") is None


@pytest.mark.parametrize("data", [b"", b"[]", b"7", b"{}", b"\xff", b'{"stage": 1, "fp": 2}', b'{"shards": null}'])
def test_file_that_is_no_pointer_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "0123" / "render.json"
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(DriftError) as caught:
        read_pointer(path)
    assert str(caught.value) == f"build_cache_tampered: build/refs/0123/render.json: is not a pointer{CLEAN}"


def test_directory_in_the_place_of_a_pointer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DriftError, match="is not a pointer"):
        read_pointer(tmp_path)


def test_pointer_is_checked_against_the_entry_it_names() -> None:
    entry = Entry(fp=A, path=Path("x"), record_digest=B, key={}, files={})
    POINTER.check(entry)
    other = Entry(fp=A, path=Path("x"), record_digest=C, key={}, files={})
    with pytest.raises(DriftError) as caught:
        POINTER.check(other)
    assert str(caught.value).startswith("build_cache_tampered: ")
    assert f"disagrees with build/{A}/record.json" in str(caught.value)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_pointer_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(data)
    refused = []
    try:
        assert isinstance(read_pointer(path), Pointer)
    except DriftError as error:
        refused = [problem.code for problem in error.problems]
    assert refused in ([], ["build_cache_tampered"])


def test_pointer_with_any_byte_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0123" / "render.json"
    write_pointer(path, POINTER)
    genuine = path.read_bytes()
    for at in range(len(genuine)):
        path.write_bytes(genuine[:at] + bytes([genuine[at] ^ 1]) + genuine[at + 1 :])
        refused, read = [], None
        try:
            read = read_pointer(path)
        except DriftError as error:
            refused = [problem.subject for problem in error.problems]
        # White space alone may change unseen.
        assert read == POINTER or refused == ["build/refs/0123/render.json"]


@pytest.mark.parametrize(("field", "value"), [("fp", B), ("digest", B), ("rows", 8), ("label", "kiln/2")])
def test_shard_changed_by_hand_is_refused(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "0123" / "render.json"
    write_pointer(path, POINTER)
    pointer = json.loads(path.read_bytes())
    pointer["shards"][0][field] = value
    path.write_text(json.dumps(pointer))
    with pytest.raises(DriftError) as caught:
        read_pointer(path)
    assert (
        str(caught.value)
        == f"build_cache_tampered: build/refs/0123/render.json: has changed since it was written{CLEAN}"
    )


@pytest.mark.parametrize("fp", ["runs", "../packs", "/tmp/victim", "A" * 64, "a" * 63, ""])
def test_an_address_that_leads_elsewhere_is_no_pointer_though_its_digest_fits(tmp_path: Path, fp: str) -> None:
    path = tmp_path / "refs" / "0123" / "render.json"
    for value in (
        {**POINTER.to_json(), "fp": fp},
        {**POINTER.to_json(), "shards": [{"label": "kiln/1", "fp": fp, "digest": A, "rows": 7}]},
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(readable_json({**value, "pointer_digest": blake3_json(value)}))
        with pytest.raises(DriftError) as caught:
            read_pointer(path)
        assert str(caught.value) == f"build_cache_tampered: build/refs/0123/render.json: is not a pointer{CLEAN}"
