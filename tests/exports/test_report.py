"""What report and manifest say of exports, passed or failed."""

from __future__ import annotations

import dataclasses
import json

import pytest

from bfcl.digest import sha256_of
from bfcl.exports.formats import FORMATS
from bfcl.exports.read_back import Failure, Tree
from bfcl.exports.report import Exported, ExportOutcome, exports_block
from bfcl.tables.benchmark import BenchmarkInfo

HASH = sha256_of(b"tree")
OTHER = sha256_of(b"another tree")
TABLE = sha256_of(b"table")
PUBLISHED = BenchmarkInfo(rows=2, content_hash=TABLE, rows_digest=sha256_of(b"rows"))
GOOD = Tree(content_hash=HASH, rows=2, failures=(), unreadable=None)
FIX = "\n  fix: read export_validation_report.json, then generate again; never patch an export"


def outcome(tree: Tree = GOOD) -> ExportOutcome:
    exported = Exported(name="bfcl_json", schema_version="1.0", written_hash=HASH, tree=tree, expected_rows=2)
    return ExportOutcome(benchmark_rows=2, benchmark_content_hash=TABLE, formats=(exported,))


def test_report_of_exports_that_passed() -> None:
    assert outcome().problems == []
    assert json.loads(outcome().report) == {
        "schema_version": "1.0",
        "benchmark_rows": 2,
        "benchmark_content_hash": TABLE,
        "formats": [
            {
                "schema_version": "1.0",
                "format": "bfcl_json",
                "format_schema_version": "1.0",
                "path": "exports/bfcl_json",
                "rows": 2,
                "content_hash": HASH,
                "equivalent": True,
                "failures": [],
            }
        ],
        "status": "passed",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"content_hash": OTHER}, f"tree hashes to {OTHER}, written was {HASH}"),
        ({"rows": 1}, "tells 1 rows, expected 2"),
        ({"unreadable": "a:1: gone"}, "cannot be read back: a:1: gone"),
        (
            {"failures": (Failure("t", "truth_field_changed", "tools"), Failure("u", "missing_row"))},
            "2 failures, first truth_field_changed (tools) of `t`",
        ),
        (
            {"failures": (Failure("u", "missing_row"),), "rows": 1, "content_hash": OTHER},
            f"1 failures, first missing_row of `u`; tree hashes to {OTHER}, written was {HASH}",
        ),
    ],
)
def test_tree_that_does_not_tell_its_rows_is_a_problem(change: dict[str, object], message: str) -> None:
    failed = outcome(dataclasses.replace(GOOD, **change))  # type: ignore[arg-type]
    assert [str(problem) for problem in failed.problems] == [
        f"export_hash_or_equivalence_mismatch: exports/bfcl_json: {message}{FIX}"
    ]
    report = json.loads(failed.report)
    assert (report["status"], report["formats"][0]["equivalent"]) == ("failed", False)


def test_report_lists_every_failure_with_its_field() -> None:
    failures = (Failure("t", "truth_field_changed", "tools"), Failure("u", "missing_row"))
    report = json.loads(outcome(dataclasses.replace(GOOD, failures=failures)).report)
    assert report["formats"][0]["failures"] == [
        {"task_id": "t", "reason": "truth_field_changed", "field": "tools"},
        {"task_id": "u", "reason": "missing_row", "field": None},
    ]


def test_manifest_block_without_exports_names_every_format_as_disabled() -> None:
    assert exports_block(None, PUBLISHED) == {
        "schema_version": "1.0",
        "evaluated": False,
        "status": None,
        "benchmark_rows": 2,
        "benchmark_content_hash": TABLE,
        "validation_report": None,
        "formats": {name: {"enabled": False} for name in FORMATS},
    }


def test_manifest_block_with_exports_names_tree_and_report() -> None:
    made = outcome()
    block = exports_block(made, PUBLISHED)
    assert (block["evaluated"], block["status"]) == (True, "passed")
    assert block["validation_report"] == {
        "path": "exports/export_validation_report.json",
        "content_hash": sha256_of(made.report),
    }
    formats = block["formats"]
    assert isinstance(formats, dict)
    assert formats["bfcl_json"] == {
        "enabled": True,
        "schema_version": "1.0",
        "path": "exports/bfcl_json",
        "rows": 2,
        "content_hash": HASH,
        "equivalent": True,
    }
    assert formats["nemo_evaluator_bundle"] == {"enabled": False}


@pytest.mark.parametrize("published", [PUBLISHED._replace(rows=3), PUBLISHED._replace(content_hash=HASH)])
def test_manifest_block_never_speaks_of_another_table(published: BenchmarkInfo) -> None:
    with pytest.raises(ValueError, match="exports that did not pass, or of another table"):
        exports_block(outcome(), published)


def test_manifest_block_never_speaks_of_failed_exports() -> None:
    with pytest.raises(ValueError, match="exports that did not pass"):
        exports_block(outcome(dataclasses.replace(GOOD, rows=1)), PUBLISHED)
