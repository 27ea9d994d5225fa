"""Gates six to nine: bytes, schema, rows and task ids of both tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

from bfcl.digest import sha256_file, sha256_of
from bfcl.evaluate.source.tables import Tables, read_tables
from bfcl.release.read import open_release
from bfcl.tables.benchmark import BenchmarkRow
from tests.evaluate.source.builder import Data, Site, drop, put

BYTES = " (gate six, the bytes of both tables)"
SCHEMA = " (gate seven, schema and decoding of the rows)"
ROWS = " (gate eight, published against raw rows)"
IDS = " (gate nine, the task ids)"
REGENERATE = "\n  fix: generate the benchmark again; published files are never edited"
THIS_VERSION = "\n  fix: generate the benchmark again with this version"


def read(site: Site) -> Callable[[], Tables]:
    """Read the tables as they lie there when this is called up."""
    return lambda: read_tables(open_release(site.run_dir), site.settings(trace_only=True).source)


def setter(**columns: Any) -> Callable[[Data], Data]:
    return lambda row: {**row, **columns}


def test_read_tables_keeps_rows_ids_and_digests(site: Site) -> None:
    tables = read(site)()
    assert [row.published for row in tables.rows] == site.rows()
    assert list(tables.raw_ids) == [row["task_id"] for row in site.rows("raw")]
    names = ("benchmark_raw.parquet", "benchmark.parquet")
    assert tables.files == {name: sha256_file(site.run_dir / name) for name in names}


def test_gate_six_names_every_declaration_that_the_published_bytes_miss(site: Site) -> None:
    release, source = open_release(site.run_dir), site.settings(trace_only=True).source
    (site.run_dir / "benchmark.parquet").write_bytes(b"other")
    declared = (
        "publication.published.content_hash",
        "artifacts.benchmark_parquet.content_hash",
        "exports.benchmark_content_hash",
        "the configuration",
    )
    seen = f"benchmark.parquet has {sha256_of(b'other')}"
    assert site.told(lambda: read_tables(release, source)) == [
        f"run/benchmark.parquet: eval_source_benchmark_hash_mismatch: {seen}, {claim} says {source.benchmark_hash}"
        f"{BYTES}{REGENERATE}"
        for claim in declared
    ]


def test_gate_six_refuses_raw_bytes_that_nobody_declared(site: Site) -> None:
    release, wanted = open_release(site.run_dir), sha256_file(site.run_dir / "benchmark_raw.parquet")
    path = site.run_dir / "benchmark_raw.parquet"
    path.write_bytes(path.read_bytes() + b"\n")
    seen = f"benchmark_raw.parquet has {sha256_file(path)}"
    assert site.told(lambda: read_tables(release, site.settings(trace_only=True).source)) == [
        f"run/benchmark_raw.parquet: eval_source_benchmark_hash_mismatch: {seen}, {claim} says {wanted}"
        f"{BYTES}{REGENERATE}"
        for claim in ("publication.raw.content_hash", "artifacts.benchmark_raw_parquet.content_hash")
    ]


def test_gate_six_refuses_what_the_configuration_was_read_against_otherwise(site: Site) -> None:
    source = dataclasses.replace(
        site.settings(trace_only=True).source, benchmark=site.run_dir / "other.parquet", benchmark_hash=sha256_of(b"")
    )
    seen = sha256_file(site.run_dir / "benchmark.parquet")
    assert site.told(lambda: read_tables(open_release(site.run_dir), source)) == [
        f"run/benchmark.parquet: eval_source_benchmark_hash_mismatch: benchmark.parquet has {seen}, "
        f"the configuration says {sha256_of(b'')}{BYTES}{REGENERATE}",
        "run/benchmark.parquet: eval_source_benchmark_hash_mismatch: the configuration was read against "
        f"`other.parquet`, the manifest publishes `benchmark.parquet`{BYTES}{REGENERATE}",
    ]


@pytest.mark.parametrize("file", ["benchmark.parquet", "benchmark_raw.parquet"])
@pytest.mark.parametrize("linked", [True, False])
def test_gate_six_refuses_a_table_that_is_no_regular_file(file: str, linked: bool, site: Site) -> None:
    path = site.run_dir / file
    elsewhere = path.rename(site.root / file)
    if linked:
        path.symlink_to(elsewhere)
    assert site.told(read(site)) == [
        f"run/{file}: eval_source_benchmark_hash_mismatch: {file} is missing or no regular file; "
        f"expected it in the publication tree{BYTES}{REGENERATE}"
    ]


@pytest.mark.parametrize("name", ["balanced_tasks.parquet", "held_out_normalized.json", "held_out_scan.json"])
def test_gate_six_holds_what_order_and_held_out_rows_are_judged_by(name: str, chosen: Site) -> None:
    path = chosen.run_dir / "stage_cache" / name
    wanted = sha256_file(path)
    path.write_bytes(b"other")
    artifact = f"artifacts.{path.stem}.content_hash"
    assert chosen.told(read(chosen)) == [
        f"run/stage_cache/{name}: eval_source_benchmark_hash_mismatch: stage_cache/{name} has {sha256_of(b'other')}, "
        f"{artifact} says {wanted}{BYTES}{REGENERATE}"
    ]


@pytest.mark.parametrize("table", ["raw", "published"])
def test_gate_seven_refuses_another_schema(table: str, site: Site) -> None:
    file = {"raw": "benchmark_raw.parquet", "published": "benchmark.parquet"}[table]
    shown = pq.read_table(site.run_dir / file)
    pq.write_table(shown.drop_columns(["seed"]), site.run_dir / file)
    site.restate(table)
    assert site.told(read(site)) == [
        f"run/{file}: eval_source_benchmark_schema_mismatch: {file}: columns missing: seed; unexpected: none"
        f"{SCHEMA}{THIS_VERSION}"
    ]


def test_gate_seven_refuses_what_is_no_table(site: Site) -> None:
    (site.run_dir / "benchmark.parquet").write_bytes(b"x")
    site.restate("published")
    (told,) = site.told(read(site))
    assert told.startswith(
        "run/benchmark.parquet: eval_source_benchmark_schema_mismatch: benchmark.parquet: cannot be read as Parquet: "
    )
    assert told.endswith(SCHEMA + THIS_VERSION)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"tools": "{}"}, "`tools` is no list"),
        ({"category": None}, "`category` is null"),
        (
            {"metadata": "[]"},
            "`metadata` is [], expected an object of base_task_id, expt_name, language, profile_hash, surface_source",
        ),
    ],
)
def test_gate_seven_skips_no_row_that_does_not_decode(columns: Data, told: str, site: Site) -> None:
    first = site.rows()[0]["task_id"]
    site.edit_rows(setter(**columns), first=1)
    assert site.told(read(site)) == [
        f"run/benchmark.parquet: eval_source_benchmark_schema_mismatch: row 1, `{first}`: {told}{SCHEMA}{REGENERATE}"
    ]


def test_gate_seven_decodes_raw_rows_that_are_not_published(site: Site) -> None:
    rows = site.rows("raw")
    site.rewrite("published", rows[1:])
    site.rewrite("raw", [cast("BenchmarkRow", {**rows[0], "tools": "{}"}), *rows[1:]])
    assert site.told(read(site)) == [
        f"run/benchmark_raw.parquet: eval_source_benchmark_schema_mismatch: row 1, `{rows[0]['task_id']}`: "
        f"`tools` is no list{SCHEMA}{REGENERATE}"
    ]


@pytest.mark.parametrize(("table", "file"), [("raw", "benchmark_raw.parquet"), ("published", "benchmark.parquet")])
def test_gate_eight_refuses_another_row_count(table: str, file: str, site: Site) -> None:
    site.edit_manifest(put(("publication", table, "rows"), 3))
    assert site.told(read(site)) == [
        f"run/{file}: eval_source_publication_invalid: holds 10 rows, the manifest says 3{ROWS}{REGENERATE}"
    ]


def test_gate_eight_refuses_another_digest_of_the_rows(site: Site) -> None:
    wanted = site.manifest()["publication"]["raw"]["rows_digest"]
    site.edit_manifest(put(("publication", "raw", "rows_digest"), sha256_of(b"")))
    assert site.told(read(site)) == [
        f"run/benchmark_raw.parquet: eval_source_publication_invalid: the rows have {wanted}, the manifest says "
        f"{sha256_of(b'')}{ROWS}{REGENERATE}"
    ]


def test_gate_eight_refuses_a_published_row_that_is_not_its_raw_row(site: Site) -> None:
    rows = site.rows()
    site.rewrite("published", [cast("BenchmarkRow", {**rows[0], "intent": "another"}), *rows[1:]])
    told = f"row `{rows[0]['task_id']}` differs from its raw row in `intent`"
    assert site.told(read(site)) == [
        f"run/benchmark.parquet: eval_source_publication_invalid: {told}{ROWS}{REGENERATE}"
    ]


def test_gate_eight_refuses_a_published_row_that_is_not_raw(site: Site) -> None:
    site.rewrite("raw", site.rows()[1:])
    told = f"row `{site.rows()[0]['task_id']}` is not in the raw table"
    assert site.told(read(site)) == [
        f"run/benchmark.parquet: eval_source_publication_invalid: {told}{ROWS}{REGENERATE}"
    ]


def test_gate_eight_refuses_rows_out_of_raw_order(site: Site) -> None:
    site.rewrite("published", site.rows()[::-1])
    assert site.told(read(site)) == [
        "run/benchmark.parquet: eval_source_publication_invalid: rows do not stand in the order of the raw table"
        f"{ROWS}{REGENERATE}"
    ]


def test_gate_eight_refuses_rows_out_of_the_order_selected(chosen: Site) -> None:
    rows = chosen.rows()
    chosen.rewrite("published", [rows[1], rows[0], *rows[2:]])
    told = f"row 0 is `{rows[1]['task_id']}`, the selection has `{rows[0]['task_id']}` there"
    assert chosen.told(read(chosen)) == [
        f"run/benchmark.parquet: eval_source_publication_invalid: {told}{ROWS}{REGENERATE}"
    ]


def test_gate_eight_refuses_a_row_that_the_selection_has_and_the_table_lacks(chosen: Site) -> None:
    rows = chosen.rows()
    chosen.rewrite("published", rows[:-1])
    last = len(rows) - 1
    assert chosen.told(read(chosen)) == [
        "eval_source_publication_invalid: held_out_scan: `counts.rows_published` is "
        f"{last + 1}, expected {last}{ROWS}{REGENERATE}",
        f"run/benchmark.parquet: eval_source_publication_invalid: row {last} is absent, the selection has "
        f"`{rows[-1]['task_id']}` there{ROWS}{REGENERATE}",
    ]


def test_gate_eight_refuses_a_row_that_calls_itself_held_out(site: Site) -> None:
    site.edit_rows(setter(held_out_hit=True), first=1)
    assert site.told(read(site)) == [
        "eval_source_publication_invalid: benchmark_raw_parquet: `held_out_hit` holds null, true; expected null only"
        f"{ROWS}{REGENERATE}"
    ]


def test_gate_eight_refuses_a_row_that_uses_a_reserved_one(chosen: Site) -> None:
    first = chosen.rows()[0]["task_id"]
    chosen.edit_rows(setter(fixture_refs=['["kilns","K-8"]']), first=1)
    assert chosen.told(read(chosen)) == [
        f"eval_source_publication_invalid: benchmark_raw_parquet: row `{first}` uses what the policy reserves: "
        f'["kilns","K-8"]{ROWS}{REGENERATE}'
    ]


@pytest.mark.parametrize(
    ("task_id", "fault"),
    [
        ("a b", 'holds " "; expected no white space, control character or any of / \\ : * ? " < > |'),
        ("a\u2028b", 'holds "\u2028"; expected no white space, control character or any of / \\ : * ? " < > |'),
        ("a\x7fb", 'holds "\x7f"; expected no white space, control character or any of / \\ : * ? " < > |'),
        ("a/b|c", 'holds "/", "|"; expected no white space, control character or any of / \\ : * ? " < > |'),
        ("-a", "starts with a dot or a dash; expected another first character"),
        (".a", "starts with a dot or a dash; expected another first character"),
        ("..", "starts with a dot or a dash; expected another first character"),
        ("", "has 0 characters; expected 1 to 200"),
        ("x" * 201, "has 201 characters; expected 1 to 200"),
    ],
)
def test_gate_nine_refuses_an_id_that_names_no_file(task_id: str, fault: str, site: Site) -> None:
    site.edit_rows(setter(task_id=task_id), first=1)
    shown = f'"{task_id}"'
    assert site.told(read(site)) == [
        f"run/benchmark.parquet: eval_source_task_index_invalid: task id {shown} {fault}{IDS}{REGENERATE}"
    ]


@pytest.mark.parametrize("task_id", ["Nung_gốm-1", "x" * 200, "a.b-c"])
def test_gate_nine_lets_other_ids_pass(task_id: str, site: Site) -> None:
    site.edit_rows(setter(task_id=task_id), first=1)
    assert read(site)().rows[0].task_id == task_id


def test_gate_nine_refuses_an_id_that_stands_twice(site: Site) -> None:
    rows = site.rows()
    for table in ("raw", "published"):
        site.rewrite(table, [rows[0], *rows])
    assert site.told(read(site)) == [
        f'run/benchmark.parquet: eval_source_task_index_invalid: task id "{rows[0]["task_id"]}" stands in 2 rows; '
        f"expected one{IDS}{REGENERATE}"
    ]


def test_a_gate_stops_before_the_next_one_is_asked(site: Site) -> None:
    site.edit_rows(setter(task_id="a b", tools="{}"), first=1)
    assert {one.split(": ")[1] for one in site.told(read(site))} == {"eval_source_benchmark_schema_mismatch"}


def test_a_manifest_without_a_digest_beside_the_tables_needs_none(site: Site) -> None:
    site.edit_manifest(drop("exports", "benchmark_content_hash"))
    assert isinstance(read(site)(), Tables)
    assert Path(site.run_dir, "exports").exists() is False
