"""The rows of the stage tables beside a release, against the digests in its manifest."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import DriftError
from bfcl.release.read import Release, open_release
from bfcl.release.stage_rows import stage_row_problems
from bfcl.tables.codec import encode_line
from bfcl.tables.parquet import TableWriter, read_rows, rows_digest
from tests.cli import runs
from tests.release.samples import published

FIX = "\n  fix: generate the benchmark again; published files are never edited"
TABLE = "rendered_conversations"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = tmp_path / "demo"
    published(run, 3)
    runs.good_run(run)
    return run


def release(run: Path, *tables: dict[str, Any]) -> Release:
    """The release, its manifest claiming the tables of each stage."""
    opened = open_release(run)
    stages: dict[str, Any] = {str(number): {"fp": "", "tables": each} for number, each in enumerate(tables)}
    opened.manifest["build"]["stages"] = {**stages, "without": {"fp": ""}}  # type: ignore[index, call-overload]
    return opened


def facts(run: Path, artifact: str = TABLE) -> dict[str, Any]:
    lines = [encode_line(row) for row in read_rows(run / "stage_cache" / f"{artifact}.parquet", artifact)]
    return {"rows": len(lines), "rows_digest": rows_digest(lines)}


def test_rows_as_digested_are_no_problem_and_every_table_is_read(run: Path) -> None:
    claims = [{f"{name}.parquet": facts(run, name)} for name in runs.CODECS]
    assert list(stage_row_problems(release(run, *claims))) == []
    for claim in claims:
        for value in claim.values():
            value["rows"] = 4
    assert len(list(stage_row_problems(release(run, *claims)))) == len(runs.CODECS)


@pytest.mark.parametrize(
    ("claimed", "told"),
    [
        ({"rows": 3, "rows_digest": "sha256:0"}, '3 rows with digest "sha256:0"'),
        ({"rows": 3}, "3 rows with digest null"),
        ("nothing", '"nothing"'),
    ],
)
def test_rows_of_another_digest_are_told_with_both(run: Path, claimed: object, told: str) -> None:
    (problem,) = stage_row_problems(release(run, {f"{TABLE}.parquet": claimed}))
    assert str(problem) == (
        f"release_rows_mismatch: stage_cache/{TABLE}.parquet: holds 3 rows with digest "
        f'"{facts(run)["rows_digest"]}"; the manifest says {told}{FIX}'
    )


def test_large_table_is_read_without_holding_its_rows(run: Path) -> None:
    row = next(read_rows(run / "stage_cache" / f"{TABLE}.parquet", TABLE))
    line = encode_line({**row, "turns": "x" * 4000})
    with TableWriter(run / "stage_cache" / f"{TABLE}.parquet", TABLE) as table:
        table.write([line] * 6000)
        claims = table.close()._asdict()
    tracemalloc.start()
    try:
        assert list(stage_row_problems(release(run, {f"{TABLE}.parquet": claims}))) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Some 24 MB of lines, read a thousand rows at a time.
    assert peak < 6000 * len(line) / 2


def test_damaged_table_is_refused_by_name(run: Path) -> None:
    claims = {f"{TABLE}.parquet": facts(run)}
    (run / "stage_cache" / f"{TABLE}.parquet").write_bytes(b"PAR1")
    with pytest.raises(DriftError) as caught:
        list(stage_row_problems(release(run, claims)))
    assert caught.value.problems[0].code == "table_unreadable"
