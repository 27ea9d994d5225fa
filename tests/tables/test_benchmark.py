"""The published row schema, its writer and its readers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.digest import sha256_file, sha256_of
from bfcl.errors import ReleaseError
from bfcl.tables import benchmark
from bfcl.tables.benchmark import (
    BenchmarkInfo,
    BenchmarkRow,
    BenchmarkWriter,
    benchmark_schema,
    column_values,
    encode_bare_row,
    encode_row,
    flag_values,
    read_rows,
    schema_problem,
    with_tools,
)
from bfcl.tables.parquet import rows_digest
from tests.release.samples import row, rows

SCHEMA = """\
task_id: string
template_id: string
variant_index: int32
messages: list<item: struct<role: string, content: string, tool_calls: list<item: struct<id: string, type: string, \
function: struct<name: string, arguments: string>>>, tool_call_id: string>>
tools: string
expected_tool_calls: list<item: struct<turn_index: int32, call_group: int32, position_in_group: int32, \
function_name: string, arguments: map<string, string>>>
success_assertions: list<item: string>
fixture_refs: list<item: string>
intent: string
category: string
difficulty: string
required_tools: list<item: string>
required_tools_fingerprint: string
tools_present: list<item: string>
turn_policy: string
is_multi_turn: bool
num_tool_calls: int32
call_order: string
call_order_prefix: int32
system_prompt_id: string
tier: string
gold_eligible: bool
validated_by: list<item: string>
pack_id: string
pack_version: string
seed: uint64
paraphrase_model: string
paraphrase_model_canonical: string
held_out_hit: bool
src: string
metadata: string"""


def write(path: Path, table: Sequence[BenchmarkRow], sizes: Sequence[int] = ()) -> BenchmarkInfo:
    """Write rows, cut into batches of the given sizes and a last one with the rest."""
    with BenchmarkWriter(path) as writer:
        start = 0
        for size in sizes:
            writer.write(table[start : start + size])
            start += size
        writer.write(table[start:])
        return writer.close()


def changed(one: BenchmarkRow, **columns: Any) -> BenchmarkRow:
    return cast("BenchmarkRow", {**one, **columns})


def test_schema_is_the_contract_field_by_field() -> None:
    fields = benchmark_schema()
    assert "\n".join(f"{field.name}: {field.type}" for field in fields) == SCHEMA


def test_row_type_names_the_columns_in_order() -> None:
    assert list(BenchmarkRow.__annotations__) == benchmark_schema().names


def test_writer_reports_rows_bytes_and_pinned_rows_digest(tmp_path: Path) -> None:
    info = write(tmp_path / "t.parquet", rows(3))
    assert info == BenchmarkInfo(
        rows=3,
        content_hash=sha256_file(tmp_path / "t.parquet"),
        rows_digest="sha256:9277ab26d3a9329dabbc0e187ba76ad133e8bb44cbc674204d048dd3d178da22",
    )
    assert info.rows_digest == sha256_of(b"".join(canonical_json(cast("Any", one)) + b"\n" for one in rows(3)))


def test_writer_file_holds_exactly_the_schema_also_when_empty(tmp_path: Path) -> None:
    assert write(tmp_path / "t.parquet", []).rows == 0
    assert schema_problem(tmp_path / "t.parquet") is None
    assert list(read_rows(tmp_path / "t.parquet")) == []
    assert pq.read_schema(tmp_path / "t.parquet").equals(benchmark_schema())


def test_writer_file_is_readable_by_all_under_any_umask(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", rows(1))
    assert (tmp_path / "t.parquet").stat().st_mode & 0o777 == 0o644


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 5), max_size=6))
def test_writer_bytes_do_not_depend_on_batches(
    sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "ROW_GROUP_ROWS", 4)
    table = rows(9)
    assert write(tmp_path / "whole.parquet", table) == write(tmp_path / "cut.parquet", table, sizes)
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "cut.parquet").read_bytes()


def test_writer_cuts_row_groups_at_rows_or_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "ROW_GROUP_ROWS", 4)
    write(tmp_path / "rows.parquet", rows(9))
    monkeypatch.setattr(benchmark, "ROW_GROUP_BYTES", len(encode_row(row(1))) + 1)
    write(tmp_path / "bytes.parquet", rows(5))

    def groups(name: str) -> list[int]:
        metadata = pq.read_metadata(tmp_path / name)
        return [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]

    assert groups("rows.parquet") == [4, 4, 1]
    assert groups("bytes.parquet") == [2, 2, 1]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MAYBE = st.none() | TEXT


@st.composite
def odd_rows(draw: st.DrawFn) -> BenchmarkRow:
    """Rows with any text, nulls, empty lists and repeated argument values."""
    call = {"id": draw(TEXT), "type": "function", "function": {"name": draw(TEXT), "arguments": draw(TEXT)}}
    message = {
        "role": draw(TEXT),
        "content": draw(MAYBE),
        "tool_calls": draw(st.none() | st.just([call])),
        "tool_call_id": draw(MAYBE),
    }
    expected = {
        "turn_index": draw(st.integers(0, 2**31 - 1)),
        "call_group": 0,
        "position_in_group": 0,
        "function_name": draw(TEXT),
        "arguments": draw(st.lists(st.tuples(TEXT, TEXT), max_size=3, unique_by=lambda pair: pair[0])),
    }
    return changed(
        row(1),
        tools=draw(TEXT),
        messages=draw(st.lists(st.just(message), max_size=3)),
        expected_tool_calls=draw(st.lists(st.just(expected), max_size=2)),
        fixture_refs=draw(st.lists(TEXT, max_size=3)),
        seed=draw(st.integers(0, 2**64 - 1)),
        intent=draw(MAYBE),
        held_out_hit=draw(st.none() | st.booleans()),
        call_order_prefix=draw(st.none() | st.integers(1, 5)),
    )


@given(one=odd_rows())
def test_row_line_is_its_canonical_json(one: BenchmarkRow) -> None:
    assert encode_row(one) == canonical_json(cast("Any", one))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.lists(odd_rows(), max_size=4))
def test_reader_returns_the_rows_written_and_their_digest(table: list[BenchmarkRow], tmp_path: Path) -> None:
    info = write(tmp_path / "t.parquet", table)
    assert list(read_rows(tmp_path / "t.parquet")) == table
    assert rows_digest(map(encode_row, read_rows(tmp_path / "t.parquet"))) == info.rows_digest


def test_writer_leaves_no_file_when_a_row_has_another_shape(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid):
        write(tmp_path / "t.parquet", [changed(row(1), variant_index="first")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[["bar"]], [["bar", "1", "2"]], [["bar", "1"], []], [None], None])
def test_writer_refuses_arguments_that_are_no_pairs(arguments: Any, tmp_path: Path) -> None:
    expected = [{**call, "arguments": arguments} for call in row(1)["expected_tool_calls"]]
    with pytest.raises(
        pa.ArrowInvalid, match=r"^expected calls hold arguments that are no pairs of a name and a value$"
    ):
        write(tmp_path / "t.parquet", [row(2), changed(row(1), expected_tool_calls=expected)])
    assert list(tmp_path.iterdir()) == []


@given(table=st.lists(odd_rows(), max_size=3))
def test_groups_read_from_lines_are_what_arrow_makes_of_the_rows(
    table: list[BenchmarkRow], tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    write(path, table)
    columns = [pa.array([cast("Any", one)[f.name] for one in table], type=f.type) for f in benchmark_schema()]
    assert pq.read_table(path).equals(pa.Table.from_arrays(columns, schema=benchmark_schema()))


@given(one=odd_rows(), present=st.lists(TEXT, max_size=3))
def test_tools_return_into_a_row_that_was_kept_without_them(one: BenchmarkRow, present: list[str]) -> None:
    one = changed(one, tools_present=present)
    asked: list[bytes] = []
    bare = encode_bare_row(one)
    assert b'"tools":' not in bare.replace(b'\\"', b"")

    def tools_of(names: bytes) -> str:
        asked.append(names)
        return one["tools"]

    assert with_tools(bare, tools_of) == encode_row(one)
    assert [json.loads(names) for names in asked] == [present]


def test_duckdb_reads_nested_columns_and_unsigned_seeds(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", rows(3))
    found = duckdb.sql(
        "select seed, len(messages), messages[3].tool_calls[2]['function'].name, messages[3].content, "
        "map_keys(expected_tool_calls[3].arguments), expected_tool_calls[3].arguments['bar'], validated_by, "
        f"held_out_hit from read_parquet('{tmp_path}/t.parquet') order by task_id limit 1"
    ).fetchall()
    assert found == [
        (2**64 - 1, 10, "read_valve", None, ["valve", "bar"], "1", ["schema", "replay", "assertions"], None)
    ]


# --- Refusals -----------------------------------------------------------------------------------------------------


def refused(path: Path, table: pa.Table) -> str:
    pq.write_table(table, path)
    return str(schema_problem(path))


def test_schema_problem_names_what_differs(tmp_path: Path) -> None:
    write(tmp_path / "good.parquet", rows(1))
    good = pq.read_table(tmp_path / "good.parquet")
    path = tmp_path / "bad.parquet"
    fix = "\n  fix: generate the benchmark again with this version"
    start = "release_schema_mismatch: bad.parquet: "
    assert refused(path, good.drop_columns(["src"])) == f"{start}columns missing: src; unexpected: none{fix}"
    assert (
        refused(path, good.append_column("note", pa.array(["x"])))
        == f"{start}columns missing: none; unexpected: note{fix}"
    )
    order = ["metadata", *good.column_names[:-1]]
    assert refused(path, good.select(order)) == f"{start}columns stand in another order: {', '.join(order)}{fix}"
    wrong = good.set_column(25, "seed", good.column("seed").cast(pa.string()))
    assert refused(path, wrong) == f"{start}column `seed` has type string, expected uint64{fix}"


def test_schema_problem_of_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"not a table, but long enough")
    shown = str(schema_problem(tmp_path / "t.parquet"))
    assert shown.startswith("release_schema_mismatch: t.parquet: cannot be read as Parquet: ")


def test_reader_refuses_a_damaged_page(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", rows(50))
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    data[pq.read_metadata(tmp_path / "t.parquet").row_group(0).column(0).dictionary_page_offset + 60] ^= 0xFF
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(ReleaseError) as caught:
        list(read_rows(tmp_path / "t.parquet"))
    assert str(caught.value).startswith("release_payload_unreadable: t.parquet: cannot be read: ")


def test_column_values_are_distinct_over_all_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bfcl.tables.benchmark._READ_ROWS", 2)
    packs = ["valves", "valves", "valves", "pumps", "valves"]
    write(tmp_path / "t.parquet", [changed(one, pack_id=pack) for one, pack in zip(rows(5), packs, strict=True)])
    assert column_values(tmp_path / "t.parquet", "pack_id") == {"valves", "pumps"}
    assert column_values(tmp_path / "t.parquet", "tier") == {"gold"}


def test_column_values_show_a_null_as_empty_text_and_no_rows_as_none(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", [changed(one, pack_version=None) for one in rows(1)])
    assert column_values(tmp_path / "t.parquet", "pack_version") == {""}
    write(tmp_path / "t.parquet", [])
    assert column_values(tmp_path / "t.parquet", "pack_version") == set()


@pytest.mark.parametrize("name", ["seed", "pack"])
def test_column_values_refuses_what_is_no_text_column(name: str, tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", rows(1))
    with pytest.raises(KeyError, match=name):
        column_values(tmp_path / "t.parquet", name)


def test_flag_values_are_distinct_and_tell_null_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "_READ_ROWS", 2)
    made = rows(5)
    write(tmp_path / "t.parquet", made)
    assert flag_values(tmp_path / "t.parquet", "held_out_hit") == {None}
    write(tmp_path / "t.parquet", [*made[:4], changed(made[4], held_out_hit=False)])
    assert flag_values(tmp_path / "t.parquet", "held_out_hit") == {None, False}
    write(tmp_path / "t.parquet", [])
    assert flag_values(tmp_path / "t.parquet", "held_out_hit") == set()


def test_flag_values_refuses_what_is_no_column_of_flags(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", rows(1))
    with pytest.raises(KeyError, match="tier"):
        flag_values(tmp_path / "t.parquet", "tier")
