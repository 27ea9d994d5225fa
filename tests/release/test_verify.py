"""Verifying a published run directory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.errors import ReleaseError
from bfcl.release.read import open_release
from bfcl.release.verify import verify_release
from bfcl.tables.benchmark import BenchmarkRow, BenchmarkWriter
from tests.release.samples import published, row, task

PROJECT = Path(__file__).resolve().parents[2]
FIX = "\n  fix: generate the benchmark again; published files are never edited"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("runs") / "demo", 4, rejected=(2,))


@pytest.fixture
def run_dir(pristine: Path, tmp_path: Path) -> Path:
    """A private copy to break."""
    return Path(shutil.copytree(pristine, tmp_path / "demo"))


def refusal(run_dir: Path) -> list[str]:
    with pytest.raises(ReleaseError) as caught:
        verify_release(run_dir)
    return [str(problem) for problem in caught.value.problems]


def restate(run_dir: Path, table: str, edit: Callable[[dict[str, Any]], Any] = lambda _: None) -> None:
    """Make the manifest claim the bytes that now lie there, as a forger would."""
    path = run_dir / "run_manifest.json"
    manifest = json.loads(path.read_bytes())
    entry = manifest["publication"][table]
    entry["content_hash"] = sha256_file(run_dir / entry["file"])
    artifact = {"raw": "benchmark_raw_parquet", "published": "benchmark_parquet"}[table]
    manifest["artifacts"][artifact]["content_hash"] = entry["content_hash"]
    if table == "published":
        manifest["exports"]["benchmark_content_hash"] = entry["content_hash"]
    edit(entry)
    path.write_bytes(readable_json(manifest))


def rewrite(run_dir: Path, table: str, rows: Sequence[BenchmarkRow]) -> None:
    """Replace a table and let the manifest vouch for it, row count and digest included."""
    name = {"raw": "benchmark_raw.parquet", "published": "benchmark.parquet"}[table]
    with BenchmarkWriter(run_dir / name) as writer:
        writer.write(rows)
        info = writer.close()
    restate(run_dir, table, lambda entry: entry.update(rows=info.rows, rows_digest=info.rows_digest))


def test_verify_release_accepts_what_was_published(run_dir: Path) -> None:
    assert verify_release(run_dir) == open_release(run_dir)


@pytest.mark.parametrize("offset", [0, 500, -1])
@pytest.mark.parametrize("name", ["benchmark.parquet", "benchmark_raw.parquet"])
def test_verify_release_finds_one_flipped_byte(name: str, offset: int, run_dir: Path) -> None:
    data = bytearray((run_dir / name).read_bytes())
    data[offset] ^= 1
    (run_dir / name).write_bytes(data)
    [told] = refusal(run_dir)
    assert told.startswith(f"release_hash_mismatch: {name.replace('.', '_')}: {name} has sha256:")


def test_verify_release_finds_another_schema_behind_an_honest_hash(run_dir: Path) -> None:
    path = run_dir / "benchmark.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["src"]), path)
    restate(run_dir, "published")
    assert refusal(run_dir) == [
        (
            "release_schema_mismatch: benchmark.parquet: columns missing: src; unexpected: none\n"
            "  fix: generate the benchmark again with this version"
        )
    ]


def test_verify_release_finds_wrong_counts_and_digests(run_dir: Path) -> None:
    release = open_release(run_dir)
    restate(run_dir, "published", lambda entry: entry.update(rows=9, rows_digest="sha256:" + "0" * 64))
    assert refusal(run_dir) == [
        f"release_rows_mismatch: benchmark.parquet: holds 3 rows, the manifest says 9{FIX}",
        (
            f"release_rows_mismatch: benchmark.parquet: rows digest is {release.published.rows_digest}, "
            f"the manifest says sha256:{'0' * 64}{FIX}"
        ),
    ]


def test_verify_release_finds_rows_that_are_not_raw_rows(run_dir: Path) -> None:
    other: Any = {**row(3), "intent": "other"}
    rewrite(run_dir, "published", [row(1), other, row(9)])
    assert refusal(run_dir) == [
        f"release_rows_mismatch: benchmark.parquet: row `{task(3).task_id}` differs from its raw row in `intent`{FIX}",
        f"release_rows_mismatch: benchmark.parquet: row `{task(9).task_id}` is not in the raw table{FIX}",
    ]


def test_verify_release_finds_repeated_ids(run_dir: Path) -> None:
    rewrite(run_dir, "raw", [row(1), row(1), row(3), row(4)])
    rewrite(run_dir, "published", [row(1), row(1), row(4)])
    repeated = f"holds `{task(1).task_id}` more than once{FIX}"
    assert refusal(run_dir) == [
        f"release_rows_mismatch: benchmark_raw.parquet: {repeated}",
        f"release_rows_mismatch: benchmark.parquet: {repeated}",
    ]


def test_verify_release_finds_rows_that_call_themselves_gold_otherwise_than_the_manifest(run_dir: Path) -> None:
    other: Any = {**row(3), "gold_eligible": False}
    rewrite(run_dir, "raw", [row(1), row(2), other, row(4)])
    rewrite(run_dir, "published", [row(1), other, row(4)])
    assert refusal(run_dir) == [
        f"release_rows_mismatch: {name}: `gold_eligible` holds false, true, the manifest says true{FIX}"
        for name in ("benchmark_raw.parquet", "benchmark.parquet")
    ]


def test_verify_release_survives_tables_written_by_another_writer(run_dir: Path) -> None:
    path = run_dir / "benchmark.parquet"
    table: pa.Table = pq.read_table(path)
    pq.write_table(table, path, compression="snappy", row_group_size=1)
    restate(run_dir, "published")
    assert verify_release(run_dir).published.rows == 3
