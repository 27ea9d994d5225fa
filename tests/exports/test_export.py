"""From a staged table to checked trees on the disk, or to nothing that could be published."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from bfcl.digest import sha256_of
from bfcl.errors import StageError
from bfcl.exports.export import export_all
from bfcl.exports.format import Piece
from bfcl.exports.formats import FORMATS
from bfcl.exports.nemo_evaluator_bundle import BundleWriter
from bfcl.exports.row import ExportRow
from bfcl.exports.tree_hash import tree_files, tree_hash
from tests.exports.staged import SOURCE, edited, row, row_with_arguments, rows, stage, tree

BOTH = ("nemo_evaluator_bundle", "bfcl_json")
FIX = "\n  fix: fix the pack or generate again; never patch an export"


def test_every_format_named_is_written_and_read_back(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(3))
    outcome = export_all(table, BOTH, tmp_path / "exports")
    assert outcome.problems == []
    assert sorted(path.name for path in (tmp_path / "exports").iterdir()) == [
        "bfcl_json",
        "export_validation_report.json",
        "nemo_evaluator_bundle",
    ]
    assert (tmp_path / "exports" / "export_validation_report.json").read_bytes() == outcome.report
    hashes = {
        name: tree_hash(tree_files(tmp_path / "exports" / name)) for name in ("bfcl_json", "nemo_evaluator_bundle")
    }
    assert [(each.name, each.tree.content_hash, each.tree.rows) for each in outcome.formats] == [
        (name, content_hash, 3) for name, content_hash in hashes.items()
    ]


def test_files_on_the_disk_are_those_of_the_format(tmp_path: Path) -> None:
    export_all(stage(tmp_path, rows(3)), ["bfcl_json"], tmp_path / "exports")
    wanted = {name: sha256_of(data) for name, data in tree(FORMATS["bfcl_json"], rows(3), SOURCE).items()}
    assert tree_files(tmp_path / "exports" / "bfcl_json") == wanted


def test_exports_are_the_same_bytes_whatever_else_is_exported(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(3))
    export_all(table, ["bfcl_json"], tmp_path / "one")
    export_all(table, BOTH, tmp_path / "two")
    assert tree_files(tmp_path / "one" / "bfcl_json") == tree_files(tmp_path / "two" / "bfcl_json")


def test_exported_files_can_be_read_by_everyone_under_any_umask(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(1))
    before = os.umask(0o077)
    try:
        export_all(table, BOTH, tmp_path / "exports")
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "exports").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}
    assert len(files) == 9


def test_problems_of_rows_and_of_formats_are_told_together(tmp_path: Path) -> None:
    unspeakable = row_with_arguments({"from": 1}, 1)
    lost = edited(row(2), ["messages", 5, "content"], None)
    other = edited(row(3), ["messages", 0, "content"], "You guard the valves.")
    table = stage(tmp_path, [unspeakable, lost, other])
    with pytest.raises(StageError) as refused:
        export_all(table, BOTH, tmp_path / "exports")
    assert [str(problem) for problem in refused.value.problems] == [
        f"unsupported_export_call_layout: {unspeakable['task_id']}: "
        f"argument `from` of `set_valve` is no Python identifier, or a keyword{FIX}",
        f"unsupported_export_call_layout: {lost['task_id']}: message 5 has neither content nor tool calls{FIX}",
        f"export_schema_mismatch: {other['task_id']}: "
        f"system prompt sha256:0123456789abcdef has another text than in the rows before{FIX}",
    ]


def test_call_that_one_format_cannot_write_stops_only_who_asks_for_that_format(tmp_path: Path) -> None:
    table = stage(tmp_path, [row_with_arguments({"from": 1}, name="set-valve")])
    assert export_all(table, ["nemo_evaluator_bundle"], tmp_path / "exports").problems == []


class Forgetful(BundleWriter):
    """Loses every row after the first."""

    def add(self, row: ExportRow) -> Iterable[Piece]:
        pieces = list(super().add(row))
        return pieces if row.task_id.endswith("1") else []


def test_format_that_loses_a_row_fails_with_its_report_and_spares_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = dataclasses.replace(FORMATS["nemo_evaluator_bundle"], writer=Forgetful)
    monkeypatch.setitem(FORMATS, "nemo_evaluator_bundle", faulty)  # type: ignore[arg-type]
    outcome = export_all(stage(tmp_path, rows(2)), BOTH, tmp_path / "exports")
    lost = row(2)["task_id"]
    assert [str(problem) for problem in outcome.problems] == [
        "export_hash_or_equivalence_mismatch: exports/nemo_evaluator_bundle: "
        f"1 failures, first missing_row of `{lost}`\n"
        "  fix: read export_validation_report.json, then generate again; never patch an export"
    ]
    report = json.loads(outcome.report)
    assert report["status"] == "failed"
    assert [(each["format"], each["rows"], each["equivalent"]) for each in report["formats"]] == [
        ("bfcl_json", 2, True),
        ("nemo_evaluator_bundle", 1, False),
    ]
    assert report["formats"][1]["failures"] == [{"task_id": lost, "reason": "missing_row", "field": None}]


def test_format_that_nobody_provides_is_no_format(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        export_all(stage(tmp_path, rows(1)), ["parchment"], tmp_path / "exports")


def test_directory_that_cannot_be_written_is_told_as_storage(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(1))
    (tmp_path / "exports").write_bytes(b"")
    with pytest.raises(StageError) as refused:
        export_all(table, BOTH, tmp_path / "exports")
    assert [problem.code for problem in refused.value.problems] == ["storage_failed"]


def test_report_counts_the_rows_of_the_table(tmp_path: Path) -> None:
    table = stage(tmp_path, rows(2))
    report = json.loads(export_all(table, BOTH, tmp_path / "exports").report)
    assert (report["benchmark_rows"], report["benchmark_content_hash"]) == (2, table.content_hash)
    assert (report["status"], [each["format"] for each in report["formats"]]) == ("passed", sorted(BOTH))
