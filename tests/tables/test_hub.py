"""The table for readers without maps: types, bytes, and the way back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bfcl.tables.benchmark import BenchmarkRow, benchmark_schema
from bfcl.tables.hub import ROW_GROUP_ROWS, Column, HubWriter, hub_columns, hub_schema, read_hub_rows
from tests.release.samples import rows


def written(table: list[BenchmarkRow]) -> bytes:
    writer = HubWriter()
    return b"".join([*map(writer.add, table), writer.finish()])


def test_schema_differs_from_the_published_one_in_the_arguments_alone() -> None:
    ours, published = hub_schema(), benchmark_schema()
    assert ours.names == published.names
    assert [name for name in ours.names if ours.field(name) != published.field(name)] == ["expected_tool_calls"]
    call = ours.field("expected_tool_calls").type.value_type
    assert call.field("arguments").type == pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())]))
    assert call.names == published.field("expected_tool_calls").type.value_type.names


def test_no_column_has_a_map() -> None:
    assert "map<" not in hub_schema().to_string()


def test_columns_name_types_lists_and_fields() -> None:
    columns = {column.name: column for column in hub_columns()}
    assert list(columns) == benchmark_schema().names
    assert columns["seed"] == Column("seed", "uint64", repeated=False, fields=())
    assert columns["fixture_refs"] == Column("fixture_refs", "string", repeated=True, fields=())
    assert [field.name for field in columns["messages"].fields] == ["role", "content", "tool_calls", "tool_call_id"]
    arguments = columns["expected_tool_calls"].fields[-1]
    assert arguments == Column(
        "arguments",
        "struct",
        repeated=True,
        fields=(Column("name", "string", False, ()), Column("value", "string", False, ())),
    )


def test_rows_come_back_as_they_went_in(tmp_path: Path) -> None:
    table = rows(5)
    (tmp_path / "t.parquet").write_bytes(written(table))
    assert list(read_hub_rows(tmp_path / "t.parquet")) == table


def test_bytes_are_the_same_every_time_and_flow_group_by_group(tmp_path: Path) -> None:
    table = rows(ROW_GROUP_ROWS + 3)
    writer = HubWriter()
    sizes = [len(writer.add(row)) for row in table]
    rest = writer.finish()
    assert written(table) == written(table)
    assert len(written(table)) == sum(sizes) + len(rest)
    assert sizes[ROW_GROUP_ROWS - 1] > 0
    assert sum(sizes[ROW_GROUP_ROWS:]) == 0
    (tmp_path / "t.parquet").write_bytes(written(table))
    metadata = pq.read_metadata(tmp_path / "t.parquet")
    assert [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)] == [ROW_GROUP_ROWS, 3]


def test_read_refuses_a_table_with_maps(tmp_path: Path) -> None:
    pq.write_table(benchmark_schema().empty_table(), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="columns or types are not those of the table"):
        list(read_hub_rows(tmp_path / "t.parquet"))


def test_read_refuses_damaged_bytes(tmp_path: Path) -> None:
    data = bytearray(written(rows(5)))
    data[100] ^= 1
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises((ValueError, OSError)):
        list(read_hub_rows(tmp_path / "t.parquet"))
