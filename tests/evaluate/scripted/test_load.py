"""Rows of a published run, or everything that is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ReleaseError
from bfcl.evaluate.scripted.load import published_rows
from bfcl.release.read import open_release
from bfcl.tables.benchmark import BenchmarkWriter
from tests.evaluate.scripted.rows import row
from tests.exports.staged import edited
from tests.release import samples


def test_rows_are_those_published_in_order(tmp_path: Path) -> None:
    release = open_release(samples.published(tmp_path / "demo", 3, rejected=(2,)))
    assert [one.task_id for one in published_rows(release)] == [row(1)["task_id"], row(3)["task_id"]]


def test_every_row_that_does_not_decode_is_told(tmp_path: Path) -> None:
    release = open_release(samples.published(tmp_path / "demo", 2, rejected=()))
    with BenchmarkWriter(release.path("published")) as table:
        table.write([edited(row(number), ["num_tool_calls"], number) for number in (1, 2)])
        table.close()
    with pytest.raises(ReleaseError) as refused:
        published_rows(release)
    assert [str(problem) for problem in refused.value.problems] == [
        f"export_schema_mismatch: {row(number)['task_id']}: `num_tool_calls` is {number}, expected 3\n"
        "  fix: generate the benchmark again; published files are never edited"
        for number in (1, 2)
    ]
