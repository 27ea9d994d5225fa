"""Rows that come back in another order than they went in."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.records.ids import TaskId
from bfcl.tables.benchmark import BenchmarkWriter, encode_row, read_rows
from bfcl.tables.shelf import RowShelf
from tests.release.samples import rows


def test_rows_come_back_in_any_order_fit_for_a_table_and_leave_no_file(tmp_path: Path) -> None:
    table = rows(5)
    with RowShelf(tmp_path) as shelf:
        for one in table:
            shelf.put(TaskId(one["task_id"]), encode_row(one))
        taken = [shelf.take(TaskId(one["task_id"])) for one in reversed(table)]
    assert taken == [encode_row(one) for one in reversed(table)]
    assert list(tmp_path.iterdir()) == []
    with BenchmarkWriter(tmp_path / "t.parquet") as writer:
        writer.write_lines(taken)
        writer.close()
    assert [encode_row(one) for one in read_rows(tmp_path / "t.parquet")] == taken


def test_a_row_that_was_never_put_there_is_our_bug(tmp_path: Path) -> None:
    with RowShelf(tmp_path) as shelf, pytest.raises(KeyError, match="absent"):
        shelf.take(TaskId("absent"))
