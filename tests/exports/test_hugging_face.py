"""The repository for the Hub: complete, the same every time, and equal to the published rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from bfcl.digest import sha256_of
from bfcl.exports.format import Unreadable, truth_of
from bfcl.exports.hugging_face import CARD, CROISSANT, FORMAT, TABLE
from bfcl.exports.read_back import Tree, digests_of, read_tree
from bfcl.tables.benchmark import BenchmarkRow
from bfcl.tables.hub import HubWriter, read_hub_rows
from tests.exports.staged import decoded, edited, plain_row, rows, tree

ROWS = [*rows(2), plain_row()]


def lay(directory: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(data)


def read(directory: Path, of: list[BenchmarkRow]) -> Tree:
    return read_tree(FORMAT, directory, [digests_of(truth_of(decoded(each))) for each in of])


def test_repository_is_complete_and_the_same_every_time() -> None:
    files = tree(FORMAT, ROWS)
    assert set(files) == {TABLE, CARD, CROISSANT}
    assert files == tree(FORMAT, ROWS)


def test_card_and_croissant_name_the_table_that_was_written() -> None:
    files = tree(FORMAT, ROWS)
    digest = sha256_of(files[TABLE])
    assert f"`{digest}`" in files[CARD].decode()
    assert f"path: {TABLE}" in files[CARD].decode()
    (file,) = json.loads(files[CROISSANT])["distribution"]
    assert (file["contentUrl"], "sha256:" + file["sha256"]) == (TABLE, digest)


def test_table_holds_every_published_column(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, ROWS))
    assert list(read_hub_rows(tmp_path / TABLE)) == ROWS


def test_table_opens_in_duckdb(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, ROWS))
    query = "SELECT task_id, expected_tool_calls[3].arguments[1] FROM read_parquet(?) ORDER BY num_tool_calls, task_id"
    found = duckdb.execute(query, [str(tmp_path / TABLE)]).fetchall()
    assert found == [
        (ROWS[2]["task_id"], None),
        (ROWS[0]["task_id"], {"name": "valve", "value": '"V-1"'}),
        (ROWS[1]["task_id"], {"name": "valve", "value": '"V-2"'}),
    ]


def test_query_of_the_card_counts_rows_by_policy_and_language(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, ROWS))
    (query,) = re.findall(r"```sql\n(.*?)```", (tmp_path / CARD).read_text(encoding="utf-8"), re.DOTALL)
    found = duckdb.execute(query.replace("DIRECTORY", str(tmp_path))).fetchall()
    assert found == [("confirmation", "en", 3)]


def test_read_back_is_equal(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, ROWS))
    found = read(tmp_path, ROWS)
    assert (found.rows, found.failures, found.unreadable) == (3, (), None)


def test_read_back_sees_a_row_that_is_not_the_published_one(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, [ROWS[1], edited(ROWS[0], ["messages", 6 - 1, "content"], "Set it?"), ROWS[2]]))
    found = read(tmp_path, ROWS)
    assert [(failure.task_id, failure.reason, failure.field) for failure in found.failures] == [
        (ROWS[0]["task_id"], "truth_field_changed", "messages"),
        (ROWS[1]["task_id"], "row_order_changed", None),
        (ROWS[0]["task_id"], "row_order_changed", None),
    ]


def test_read_back_refuses_a_table_that_its_descriptions_do_not_name(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, ROWS))
    other = tree(FORMAT, ROWS[:2])[TABLE]
    was = sha256_of((tmp_path / TABLE).read_bytes())
    (tmp_path / TABLE).write_bytes(other)
    with pytest.raises(Unreadable) as caught:
        list(FORMAT.read_back(tmp_path))
    assert str(caught.value) == (
        f"croissant.json: ValueError: describes [('{TABLE}', '{was}')], seen [('{TABLE}', '{sha256_of(other)}')]"
    )


def test_read_back_refuses_a_card_of_another_table(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, ROWS) | {CARD: tree(FORMAT, ROWS[:2])[CARD]})
    digest = sha256_of((tmp_path / TABLE).read_bytes())
    with pytest.raises(Unreadable) as caught:
        list(FORMAT.read_back(tmp_path))
    assert str(caught.value) == f"README.md: ValueError: does not name {digest}"


def test_read_back_refuses_a_row_that_contradicts_itself(tmp_path: Path) -> None:
    writer = HubWriter()
    broken = edited(ROWS[0], ["num_tool_calls"], 7)
    table = writer.add(broken) + writer.finish()
    files = tree(FORMAT, ROWS)
    old, new = (sha256_of(data).removeprefix("sha256:").encode() for data in (files[TABLE], table))
    described = {name: files[name].replace(old, new) for name in (CARD, CROISSANT)}
    lay(tmp_path, {TABLE: table, **described})
    with pytest.raises(Unreadable) as caught:
        list(FORMAT.read_back(tmp_path))
    assert str(caught.value) == "data/test.parquet row 0: ValueError: `num_tool_calls` is 7, expected 3"
