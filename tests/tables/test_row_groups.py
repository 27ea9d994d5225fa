"""A file that grows by row groups, closed or abandoned."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bfcl.tables.row_groups import RowGroupFile

SCHEMA = pa.schema([("task_id", pa.string())])


def group(*names: str) -> tuple[pa.Table, bytes]:
    lines = b"".join(b'{"task_id":"%s"}\n' % name.encode() for name in names)
    return pa.table({"task_id": list(names)}, schema=SCHEMA), lines


def test_closed_file_holds_one_row_group_an_append_and_digests_the_lines(tmp_path: Path) -> None:
    groups = [group("a", "b"), group("c")]
    file = RowGroupFile(tmp_path / "t.parquet", SCHEMA)
    for table, lines in groups:
        file.append(table, lines)
    digest = file.close()
    metadata = pq.read_metadata(tmp_path / "t.parquet")
    assert [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)] == [2, 1]
    assert digest == f"sha256:{hashlib.sha256(groups[0][1] + groups[1][1]).hexdigest()}"
    assert file.rows == 3


def test_abandoned_file_is_empty_and_a_closed_one_stays(tmp_path: Path) -> None:
    left = RowGroupFile(tmp_path / "left.parquet", SCHEMA)
    left.append(*group("a"))
    assert left.abandon() is True
    assert left.abandon() is False
    assert (tmp_path / "left.parquet").read_bytes() == b""
    kept = RowGroupFile(tmp_path / "kept.parquet", SCHEMA)
    kept.append(*group("a"))
    kept.close()
    assert kept.abandon() is False
    assert pq.read_table(tmp_path / "kept.parquet").column("task_id").to_pylist() == ["a"]
