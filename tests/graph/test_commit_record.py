"""What a run tree remembers of its last publication."""

from __future__ import annotations

from pathlib import Path

from bfcl.graph.commit_record import CommitRecord, read_commit_record, write_commit_record

A, B = "a" * 64, "b" * 64


def test_publication_comes_back_and_is_unknown_in_any_doubt(tmp_path: Path) -> None:
    path = tmp_path / "refs" / "publish.json"
    record = CommitRecord(manifest=A, publication_key=B, configuration=A, checkpoints={"expand/state.json": B})
    assert read_commit_record(path) is None
    write_commit_record(path, record)
    assert read_commit_record(path) == record
    for data in (b"", b"[]", b"{}", b"\xff", b'{"manifest": "x"}'):
        path.write_bytes(data)
        assert read_commit_record(path) is None
