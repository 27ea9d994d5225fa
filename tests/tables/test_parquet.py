"""What reaches the Parquet file: exact values, exact schema, bytes that depend on the rows alone."""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.errors import DriftError, StageError
from bfcl.tables import parquet
from bfcl.tables.codec import Row, encode_line
from bfcl.tables.columns import COLUMNS
from bfcl.tables.parquet import TableInfo, TableWriter, read_rows, rows_digest, table_schema

ARROW = {
    "s": pa.string(),
    "j": pa.string(),
    "i": pa.int32(),
    "u": pa.uint64(),
    "b": pa.bool_(),
    "f": pa.float64(),
    "[s]": pa.list_(pa.string()),
}


def write(path: Path, artifact: str, batches: Iterable[list[bytes]]) -> TableInfo:
    with TableWriter(path, artifact) as writer:
        for batch in batches:
            writer.write(batch)
        return writer.close()


def task_row(index: int = 0, **fields: Any) -> Row:
    row: Row = {}
    for name, kind in COLUMNS["task_instances"]:
        row[name] = {"s": name, "j": "{}", "i": index, "u": index, "b": True, "[s]": []}[kind]
    return {**row, "task_id": f"t{index}", **fields}


ODD: list[dict[str, Any]] = [
    {"seed": 2**64 - 1, "call_order_prefix": None, "variant_index": -(2**31)},
    {"seed": 2**63, "intent": None, "difficulty": None, "variant_index": 2**31 - 1},
    {"seed": 2**53 + 1, "category": "2026-03-02T10:00:00+07:00", "intent": "12", "difficulty": "true"},
    {"required_tools": ["2026-03-02", "", "null"], "fixture_refs": ['["kilns","K-1"]'], "edge_signatures": []},
    {"category": 'Đốt lò \U0001f525\u2028\u0085\x00\x7f"\\/\n\r\t', "slots": '{"a":"\\"\\u0000"}', "mutates": False},
    {"category": "e\u0301 vs \u00e9", "slots": "[" * 400 + "]" * 400},
]


@pytest.mark.parametrize("artifact", list(COLUMNS))
def test_an_empty_table_has_the_exact_schema(tmp_path: Path, artifact: str) -> None:
    info = write(tmp_path / "t.parquet", artifact, [])
    seen = pq.read_schema(tmp_path / "t.parquet")
    assert seen.names == [name for name, _ in COLUMNS[artifact]]
    assert seen.types == [ARROW[kind] for _, kind in COLUMNS[artifact]]
    assert seen.equals(table_schema(artifact))
    assert info == TableInfo(0, rows_digest([]))
    assert list(read_rows(tmp_path / "t.parquet", artifact)) == []


def test_rows_come_back_exactly(tmp_path: Path) -> None:
    rows = [task_row(index, **fields) for index, fields in enumerate(ODD)]
    write(tmp_path / "t.parquet", "task_instances", [[encode_line(row) for row in rows]])
    back = list(read_rows(tmp_path / "t.parquet", "task_instances"))
    assert back == rows
    assert [list(row) for row in back] == [[name for name, _ in COLUMNS["task_instances"]]] * len(rows)
    assert pq.read_schema(tmp_path / "t.parquet").equals(table_schema("task_instances"))


_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_TEXT, st.integers(0, 2**64 - 1), st.lists(_TEXT), st.none() | _TEXT), min_size=1))
def test_any_text_and_seed_comes_back(tmp_path: Path, drawn: list[tuple[str, int, list[str], str | None]]) -> None:
    rows = [
        task_row(index, category=text, seed=seed, edge_signatures=texts, intent=maybe)
        for index, (text, seed, texts, maybe) in enumerate(drawn)
    ]
    lines = [encode_line(row) for row in rows]
    info = write(tmp_path / "t.parquet", "task_instances", [lines])
    assert list(read_rows(tmp_path / "t.parquet", "task_instances")) == rows
    assert info == TableInfo(len(rows), rows_digest(encode_line(row) for row in rows))


def test_bytes_do_not_depend_on_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 100)
    lines = [encode_line(task_row(index, category=f"c{index % 7}")) for index in range(1050)]
    written = []
    for name, size in (("a", 1), ("b", 64), ("c", 100), ("d", 1050)):
        info = write(tmp_path / name, "task_instances", [lines[at : at + size] for at in range(0, 1050, size)])
        written.append((info, (tmp_path / name).read_bytes()))
    assert written == written[:1] * 4
    metadata = pq.read_metadata(tmp_path / "a")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [100] * 10 + [50]


def test_row_groups_end_at_the_byte_limit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 2000)
    lines = [encode_line(task_row(index, category="x" * size)) for index, size in enumerate([0, 0, 5000, 0, 0])]
    write(tmp_path / "a", "task_instances", [lines])
    write(tmp_path / "b", "task_instances", [[line] for line in lines])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    metadata = pq.read_metadata(tmp_path / "a")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [3, 2]


def test_rows_digest_is_that_of_the_lines(tmp_path: Path) -> None:
    lines = [encode_line(task_row(index)) for index in range(3)]
    info = write(tmp_path / "t.parquet", "task_instances", [lines[:1], lines[1:]])
    plain = hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()
    assert info.rows_digest == rows_digest(lines) == f"sha256:{plain}"
    assert info.rows_digest == "sha256:3601138aebccefba551edc76058cadaa7c57d191301a7e011074030a8407b999"


def test_a_table_is_readable_by_all_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write(tmp_path / "t.parquet", "task_instances", [])
    finally:
        os.umask(before)
    assert (tmp_path / "t.parquet").stat().st_mode & 0o777 == 0o644


def test_leaving_without_close_leaves_no_table(tmp_path: Path) -> None:
    with TableWriter(tmp_path / "t.parquet", "task_instances") as writer:
        writer.write([encode_line(task_row(index)) for index in range(5000)])
    assert (tmp_path / "t.parquet").read_bytes() == b""


@pytest.mark.parametrize(
    "fields", [{"seed": -1}, {"variant_index": 2**31}, {"variant_index": 1.5}, {"intent": 3}, {"other": "x"}]
)
def test_a_row_of_another_shape_is_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(pa.ArrowInvalid):
        write(tmp_path / "t.parquet", "task_instances", [[encode_line(task_row(**fields))]])


def test_writing_where_the_disk_refuses_is_storage_failed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    lines = [encode_line(task_row(index, category=f"c{index}")) for index in range(500)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(StageError) as caught:
            write(path, "task_instances", [lines])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value.problems[0]) == (
        f"storage_failed: {path}: cannot write: File too large\n"
        "  fix: free space or make the directory writable, then run the same command again"
    )


# --- reading --------------------------------------------------------------------------------------------------------

FIX = "\n  fix: run `doit generate` again, which writes the table anew"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"task_id": ["a"], "extra": [1]}, "columns missing: template_id, valid, {rest}; unexpected: extra"),
        (None, "columns stand in another order: failures, failure_count, reject_reason, valid, template_id, task_id"),
        ({}, "column `failure_count` has type int64, expected int32"),
    ],
)
def test_read_rows_refuses_another_schema(tmp_path: Path, table: dict[str, Any] | None, said: str) -> None:
    schema = table_schema("schema_validated_traces")
    if table is None:
        schema = pa.schema(list(schema)[::-1])
    elif table:
        schema = pa.table(table).schema
    else:
        schema = schema.set(4, pa.field("failure_count", pa.int64()))
    pq.write_table(schema.empty_table(), tmp_path / "t.parquet")
    with pytest.raises(DriftError) as caught:
        list(read_rows(tmp_path / "t.parquet", "schema_validated_traces"))
    said = said.format(rest="reject_reason, failure_count, failures")
    assert str(caught.value) == f"table_schema_mismatch: t.parquet: {said}{FIX}"


def test_read_rows_refuses_what_is_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"not a table")
    with pytest.raises(DriftError) as caught:
        list(read_rows(tmp_path / "t.parquet", "task_instances"))
    assert str(caught.value).startswith("table_unreadable: t.parquet: cannot be read: Parquet magic bytes not found")
    assert str(caught.value).endswith(FIX)
    with pytest.raises(DriftError, match=r"table_unreadable: gone\.parquet: cannot be read: "):
        list(read_rows(tmp_path / "gone.parquet", "task_instances"))


def test_read_rows_refuses_a_flipped_byte_in_a_page(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, "task_instances", [[encode_line(task_row(index, category=f"c{index}")) for index in range(50)]])
    data = bytearray(path.read_bytes())
    data[len(data) // 8] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DriftError, match=r"table_unreadable: t\.parquet: cannot be read: "):
        list(read_rows(path, "task_instances"))
