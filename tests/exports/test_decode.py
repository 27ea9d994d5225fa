"""One decoding of a staged table: bound to its hash and ids, of one run, all problems at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bfcl.digest import sha256_file, sha256_of
from bfcl.errors import StageError
from bfcl.exports.decode import Decoding, StagedTable
from tests.exports.staged import edited, row, rows, stage

FIX = "\n  fix: fix the pack or generate again; never patch an export"
FIRST, SECOND, THIRD = (row(number)["task_id"] for number in (1, 2, 3))


def refusal(table: StagedTable) -> list[str]:
    decoding = Decoding(table)
    list(decoding)
    with pytest.raises(StageError) as refused:
        decoding.source()
    return [str(problem).removesuffix(FIX) for problem in refused.value.problems]


def test_decoding_yields_rows_in_order_then_their_source(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(3))
    decoding = Decoding(table)
    assert [read.task_id for read in decoding] == [FIRST, SECOND, THIRD]
    assert decoding.problems == []
    source = decoding.source()
    assert (source.file, source.content_hash, source.rows) == ("benchmark.parquet", table.content_hash, 3)
    assert (source.pack_id, source.pack_version, source.tier) == ("plant", "1.0", "gold")
    assert (source.gold_eligible, source.expt_name) == (True, "demo")


def test_decoding_refuses_other_bytes_than_those_staged(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(1))
    other = dataclasses.replace(table, content_hash=sha256_of(b""))
    assert refusal(other) == [
        f"export_hash_or_equivalence_mismatch: benchmark.parquet: hashes to {table.content_hash}, "
        f"staged was {sha256_of(b'')}"
    ]


def test_decoding_refuses_other_columns(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(1))
    pq.write_table(pq.read_table(table.path).drop_columns(["seed"]), table.path)
    assert refusal(dataclasses.replace(table, content_hash=sha256_file(table.path))) == [
        "export_schema_mismatch: benchmark.parquet: columns missing: seed; unexpected: none"
    ]


def test_decoding_refuses_a_table_without_rows(tmp_path: Path) -> None:
    assert refusal(stage(tmp_path, [])) == [
        "export_schema_mismatch: benchmark.parquet: holds no row, expected at least one"
    ]


@pytest.mark.parametrize(
    ("planned", "messages"),
    [
        ([FIRST], [f"{SECOND}: row 1 is this task, expected none"]),
        ([FIRST, SECOND, THIRD], [f"{THIRD}: row 2 is absent, expected this task"]),
        (
            [SECOND, FIRST],
            [f"{FIRST}: row 0 is this task, expected `{SECOND}`", f"{SECOND}: row 1 is this task, expected `{FIRST}`"],
        ),
    ],
)
def test_decoding_refuses_other_ids_than_planned(tmp_path: Path, planned: list[str], messages: list[str]) -> None:
    table = dataclasses.replace(stage(tmp_path, rows(2)), task_ids=planned)
    assert refusal(table) == [f"export_schema_mismatch: {message}" for message in messages]


def test_decoding_refuses_a_task_that_comes_twice(tmp_path: Path) -> None:
    assert refusal(stage(tmp_path, [row(1), row(1)])) == [f"export_schema_mismatch: {FIRST}: row 1 repeats this task"]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["pack_version"], "1.1", "`pack_version` is '1.1', in the rows before it is '1.0'"),
        (["tier"], "silver", "`tier` is 'silver', in the rows before it is 'gold'"),
        (["gold_eligible"], False, "`gold_eligible` is False, in the rows before it is True"),
        (
            ["metadata"],
            row(2)["metadata"].replace('"demo"', '"other"'),
            "`expt_name` is 'other', in the rows before it is 'demo'",
        ),
    ],
)
def test_decoding_refuses_a_row_of_another_run(
    tmp_path: Path, path: Sequence[str], value: object, message: str
) -> None:
    table = stage(tmp_path, [row(1), edited(row(2), path, value), row(3)])
    assert refusal(table) == [f"export_schema_mismatch: {SECOND}: {message}"]


def test_decoding_refuses_a_row_of_another_pack(tmp_path: Path) -> None:
    other = edited(edited(row(2), ["pack_id"], "mill"), ["src"], "mill:read_then_set")
    assert refusal(stage(tmp_path, [row(1), other])) == [
        f"export_schema_mismatch: {SECOND}: `pack_id` is 'mill', in the rows before it is 'plant'"
    ]


def test_decoding_tells_problems_of_all_rows_and_yields_the_good_ones(tmp_path: Path) -> None:
    broken = edited(row(1), ["messages", 5, "content"], None)
    leaked = edited(row(3), ["held_out_hit"], True)
    table = stage(tmp_path, [broken, row(2), leaked])
    assert [read.task_id for read in Decoding(table)] == [SECOND]
    assert refusal(table) == [
        f"unsupported_export_call_layout: {FIRST}: message 5 has neither content nor tool calls",
        f"export_schema_mismatch: {THIRD}: `held_out_hit` is true: the row uses reserved material",
    ]


def test_decoding_shows_twenty_problems_and_counts_the_rest(tmp_path: Path) -> None:
    said = refusal(stage(tmp_path, [edited(each, ["held_out_hit"], True) for each in rows(23)]))
    assert len(said) == 21
    assert said[-1] == "export_schema_mismatch: benchmark.parquet: 3 more problems are not shown"
