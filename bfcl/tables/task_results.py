"""How does the table of task results look, and how is it written, read and held against what it should say?

Rule: evaluation.md §11. The same rows give the same bytes under one pyarrow version; `same_rows` outlives versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, cast

from bfcl.canonical import Json, canonical_json
from bfcl.errors import EvalError, Problem
from bfcl.files import storage, sync_dir, temporary_sibling
from bfcl.tables.row_groups import RowGroupFile, read_lines

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

TASK_RESULTS_FILE: Final = "eval_task_results.parquet"

_ROW_GROUP_ROWS: Final = 4096
_FIX: Final = "evaluate into a new output directory"


class FailureRow(TypedDict):
    """One failure record."""

    layer: str
    code: str
    attribution: str
    subject: str


class TaskResultRow(TypedDict):
    """A candidate's result on one task, keys in column order. A flag is None where it does not apply."""

    candidate_alias: str
    candidate_canonical_id: str
    task_id: str
    mode: str
    schema_valid: bool | None
    tool_name_correct: bool | None
    arguments_correct: bool | None
    call_group_correct: bool | None
    call_order_correct: bool | None
    required_subset_correct: bool | None
    milestones_correct: bool | None
    execution_success: bool | None
    assertions_passed: bool | None
    final_answer_passed: bool | None
    episode_status: str
    non_candidate_stop: bool
    task_success: bool
    failure_codes: list[str]
    failure_records: list[FailureRow]


FLAGS: Final = (
    "schema_valid",
    "tool_name_correct",
    "arguments_correct",
    "call_group_correct",
    "call_order_correct",
    "required_subset_correct",
    "milestones_correct",
    "execution_success",
    "assertions_passed",
    "final_answer_passed",
)
"""The nullable columns; every other one always has a value."""


def task_results_schema() -> pa.Schema:
    """The Arrow schema: names, order, types and which columns may be null."""
    import pyarrow as pa

    text, flag = pa.string(), pa.bool_()
    record = pa.struct([(name, text) for name in FailureRow.__annotations__])
    types = {
        **dict.fromkeys(("candidate_alias", "candidate_canonical_id", "task_id", "mode"), text),
        **dict.fromkeys(FLAGS, flag),
        "episode_status": text,
        "non_candidate_stop": flag,
        "task_success": flag,
        "failure_codes": pa.list_(text),
        "failure_records": pa.list_(record),
    }
    return pa.schema([pa.field(name, kind, nullable=name in FLAGS) for name, kind in types.items()])


def write_task_results(path: Path, rows: Iterable[TaskResultRow]) -> None:
    """Write the table in the order given, in one step: a reader sees the old file, none, or the whole new one.

    Raises: StageError `storage_failed` where the disk refuses, ValueError on a row of another shape.
    """
    schema = task_results_schema()
    lines = [canonical_json(cast("Json", row)) + b"\n" for row in rows]
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_sibling(path)
    try:
        file = RowGroupFile(temporary, schema)
        try:
            for start in range(0, len(lines), _ROW_GROUP_ROWS):
                data = b"".join(lines[start : start + _ROW_GROUP_ROWS])
                # Reading lines forgets which columns may be null; the cast refuses a null where none may be.
                file.append(read_lines(data, schema).cast(schema), data)
            file.close()
        finally:
            file.abandon()
        with storage(path):
            temporary.replace(path)
            sync_dir(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def read_task_results(path: Path) -> list[TaskResultRow]:
    """The rows in file order.

    Raises: EvalError `eval_artifact_invalid` where the file is missing, damaged, of another schema, or with metadata of
    anybody else's.
    """
    import pyarrow as pa
    import pyarrow.parquet

    wanted = task_results_schema()
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            if not file.schema_arrow.equals(wanted):
                raise EvalError([_problem(path, _difference(wanted, file.schema_arrow))])
            added = _added(file)
            if added:
                raise EvalError([_problem(path, f"holds metadata that no evaluation writes: {', '.join(added)}")])
            return cast("list[TaskResultRow]", file.read().to_pylist())
    except (pa.ArrowInvalid, OSError) as error:
        raise EvalError([_problem(path, f"cannot be read: {str(error).splitlines()[0]}")]) from None


def same_rows(path: Path, rows: Sequence[TaskResultRow]) -> bool:
    """Whether the table holds exactly these rows in this order. Raises: EvalError as `read_task_results`."""
    return read_task_results(path) == list(rows)


def _difference(wanted: pa.Schema, seen: pa.Schema) -> str:
    if seen.names != wanted.names:
        return f"the columns are {', '.join(seen.names)}, expected {', '.join(wanted.names)}"
    unlike = [field for field in wanted if not seen.field(field.name).equals(field)]
    return "; ".join(f"column `{_told(seen.field(one.name))}`, expected `{_told(one)}`" for one in unlike)


def _added(file: pq.ParquetFile) -> list[str]:
    """Keys of metadata, of the file or a column, beyond the one that the library keeps the schema under."""
    schema = file.schema_arrow
    keys = {*(file.metadata.metadata or {}), *(schema.metadata or {})} - {b"ARROW:schema"}
    keys |= {key for field in schema for key in (field.metadata or {})}
    return sorted(key.decode(errors="backslashreplace") for key in keys)


def _told(field: pa.Field) -> str:
    return f"{field.name}: {field.type}{'' if field.nullable else ' not null'}"


def _problem(path: Path, message: str) -> Problem:
    return Problem(code="eval_artifact_invalid", subject=path.name, message=message, fix=_FIX)
