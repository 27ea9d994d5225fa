"""The table of task results: its schema, its writer and readers, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.errors import EvalError, StageError
from bfcl.tables.task_results import (
    FLAGS,
    TASK_RESULTS_FILE,
    TaskResultRow,
    read_task_results,
    same_rows,
    task_results_schema,
    write_task_results,
)

SCHEMA = """\
candidate_alias: string not null
candidate_canonical_id: string not null
task_id: string not null
mode: string not null
schema_valid: bool
tool_name_correct: bool
arguments_correct: bool
call_group_correct: bool
call_order_correct: bool
required_subset_correct: bool
milestones_correct: bool
execution_success: bool
assertions_passed: bool
final_answer_passed: bool
episode_status: string not null
non_candidate_stop: bool not null
task_success: bool not null
failure_codes: list<item: string> not null
failure_records: list<item: struct<layer: string, code: string, attribution: string, subject: string>> not null"""


def row(task_id: str = "task-1", **edits: Any) -> TaskResultRow:
    plain: dict[str, Any] = {
        "candidate_alias": "small",
        "candidate_canonical_id": "source:model@pin",
        "task_id": task_id,
        "mode": "trace",
        **dict.fromkeys(FLAGS),
        "schema_valid": True,
        "episode_status": "candidate_mismatch",
        "non_candidate_stop": False,
        "task_success": False,
        "failure_codes": ["arguments.mismatch"],
        "failure_records": [
            {"layer": "gate", "code": "arguments.mismatch", "attribution": "candidate", "subject": "arguments"}
        ],
    }
    return cast("TaskResultRow", {**plain, **edits})


def test_schema_is_pinned_with_what_may_be_null() -> None:
    told = "\n".join(
        f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in task_results_schema()
    )
    assert told == SCHEMA
    assert list(TaskResultRow.__annotations__) == task_results_schema().names


def test_rows_come_back_as_written_in_order_and_zstd(tmp_path: Path) -> None:
    path = tmp_path / "out" / TASK_RESULTS_FILE
    rows = [row("b"), row("a", task_success=True, failure_codes=[], failure_records=[]), row("ö")]
    write_task_results(path, rows)
    assert read_task_results(path) == rows
    assert list(read_task_results(path)[0]) == task_results_schema().names
    file = pq.ParquetFile(path)
    assert file.schema_arrow.equals(task_results_schema())
    group = file.metadata.row_group(0)
    assert {group.column(place).compression for place in range(group.num_columns)} == {"ZSTD"}
    assert [one.name for one in path.parent.iterdir()] == [TASK_RESULTS_FILE]


def test_table_without_rows_reads_as_none(tmp_path: Path) -> None:
    path = tmp_path / TASK_RESULTS_FILE
    write_task_results(path, [])
    assert read_task_results(path) == []
    assert same_rows(path, [])


def test_many_rows_make_several_groups_and_the_same_bytes_twice(tmp_path: Path) -> None:
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    rows = [row(f"task-{place}") for place in range(5000)]
    write_task_results(one, rows)
    write_task_results(other, iter(rows))
    assert one.read_bytes() == other.read_bytes()
    assert pq.ParquetFile(one).metadata.num_row_groups == 2
    assert same_rows(one, rows)


@pytest.mark.parametrize(
    "rows",
    [
        [row("a")],
        [row("b"), row("a")],
        [row("a"), row("b", schema_valid=None)],
        [row("a"), row("b"), row("c")],
    ],
)
def test_same_rows_is_false_for_any_other_rows(tmp_path: Path, rows: list[TaskResultRow]) -> None:
    path = tmp_path / TASK_RESULTS_FILE
    write_task_results(path, [row("a"), row("b")])
    assert same_rows(path, [row("a"), row("b")])
    assert not same_rows(path, rows)


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
FLAG = st.none() | st.booleans()
RECORD = st.fixed_dictionaries(dict.fromkeys(("layer", "code", "attribution", "subject"), TEXT))
ROWS = st.lists(
    st.builds(
        lambda task_id, flags, codes, records: row(
            task_id, **dict(zip(FLAGS, flags, strict=True)), failure_codes=codes, failure_records=records
        ),
        TEXT,
        st.tuples(*[FLAG] * len(FLAGS)),
        st.lists(TEXT, max_size=2),
        st.lists(RECORD, max_size=2),
    ),
    max_size=4,
)


@given(ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_rows_survive_the_table(tmp_path: Path, rows: list[TaskResultRow]) -> None:
    path = tmp_path / TASK_RESULTS_FILE
    write_task_results(path, rows)
    assert read_task_results(path) == rows


def test_row_with_a_null_that_may_not_be_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / TASK_RESULTS_FILE
    write_task_results(path, [row()])
    with pytest.raises(pa.ArrowInvalid):
        write_task_results(path, [row(task_success=None)])
    assert read_task_results(path) == [row()]
    assert [one.name for one in tmp_path.iterdir()] == [TASK_RESULTS_FILE]


# --- what is refused ------------------------------------------------------------------------------------------------


def told(path: Path) -> str:
    with pytest.raises(EvalError) as caught:
        same_rows(path, [])
    (problem,) = caught.value.problems
    return str(problem)


FIX = "\n  fix: evaluate into a new output directory"


def test_missing_and_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / TASK_RESULTS_FILE
    assert told(path).startswith(f"eval_artifact_invalid: {TASK_RESULTS_FILE}: cannot be read: ")
    path.write_bytes(b"PAR1")
    assert told(path).startswith(f"eval_artifact_invalid: {TASK_RESULTS_FILE}: cannot be read: ")
    assert told(path).endswith(FIX)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / TASK_RESULTS_FILE
    pq.write_table(pa.table({"task_id": ["a"]}), path)
    names = ", ".join(task_results_schema().names)
    assert told(path) == (f"eval_artifact_invalid: {TASK_RESULTS_FILE}: the columns are task_id, expected {names}{FIX}")


def test_column_that_may_be_null_where_it_must_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / TASK_RESULTS_FILE
    schema = task_results_schema()
    place = schema.get_field_index("mode")
    pq.write_table(schema.set(place, pa.field("mode", pa.string())).empty_table(), path)
    assert told(path) == (
        f"eval_artifact_invalid: {TASK_RESULTS_FILE}: column `mode: string`, expected `mode: string not null`{FIX}"
    )


def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(StageError) as caught:
        write_task_results(tmp_path / "out" / TASK_RESULTS_FILE, [row()])
    assert caught.value.problems[0].code == "storage_failed"
