"""`bfcl verify`: a release that holds, and one that does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bfcl.digest import sha256_file
from tests.cli.conftest import Ended
from tests.release import samples

Command = Callable[..., Ended]


def test_release_that_holds_is_summed_up(bfcl: Command, project: Path) -> None:
    run = samples.published(project / "runs" / "demo", 3, rejected=(2,))
    text = f"""\
verified runs/demo
  run        demo-20260102T030405678901Z-0123456789ab-{"f" * 32}
  tier       gold, gold eligible
  published  2 rows, {sha256_file(run / "benchmark.parquet")}
  raw        3 rows, {sha256_file(run / "benchmark_raw.parquet")}
  artifacts  16 files hashed
"""
    assert bfcl("verify", "--format", "text", "runs/demo") == (0, text, "")


def test_every_changed_and_missing_file_is_named(bfcl: Command, project: Path) -> None:
    run = samples.published(project / "runs" / "demo", 2, rejected=())
    table = run / "stage_cache" / "expected_traces.parquet"
    claimed = sha256_file(table)
    table.write_bytes(b"other")
    (run / "benchmark.parquet").unlink()
    fix = "  fix: generate the benchmark again; published files are never edited\n"
    said = bfcl("verify", "--format", "text", str(run))
    assert (said.status, said.out) == (1, "")
    mismatch = f"stage_cache/expected_traces.parquet has {sha256_file(table)}, the manifest says {claimed}"
    assert f"release_hash_mismatch: expected_traces: {mismatch}\n{fix}" in said.err
    missing = "benchmark.parquet is missing or no regular file"
    assert f"release_payload_missing: benchmark_parquet: {missing}\n{fix}" in said.err
    assert len(said.err.splitlines()) == 4


def test_directory_without_manifest_is_refused(bfcl: Command, project: Path) -> None:
    said = (
        "far/nowhere: release_manifest_missing: holds no run_manifest.json, so nothing in it is published\n"
        "  fix: run `doit generate`, or name the directory of a finished run\n"
    )
    assert bfcl("verify", "--format", "text", "far/nowhere") == (1, "", said)


def test_release_that_holds_is_a_document_to_scripts(bfcl: Command, project: Path) -> None:
    run = samples.published(project / "runs" / "demo", 3, rejected=(2,))
    said = bfcl("verify", "runs/demo")
    assert (said.status, said.err) == (0, "")
    assert json.loads(said.out) == {
        "schema_version": "1.0",
        "status": "pass",
        "run": "runs/demo",
        "run_id": f"demo-20260102T030405678901Z-0123456789ab-{'f' * 32}",
        "tier": "gold",
        "gold_eligible": True,
        "gold_ineligibility_reasons": [],
        "published": {"rows": 2, "content_hash": sha256_file(run / "benchmark.parquet")},
        "raw": {"rows": 3, "content_hash": sha256_file(run / "benchmark_raw.parquet")},
        "artifacts": 16,
    }
