"""What did the stages decide about each task, as the tables beside a release say? Rule: generation.md §3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from bfcl.errors import ReleaseError
from bfcl.release.read import Release
from bfcl.stages.artifacts import ARTIFACTS
from bfcl.stages.final_output import disagreement
from bfcl.tables.decisions import Decision, decide
from bfcl.tables.drops import read_columns

_COLUMNS: Final = {
    "task_instances": ("task_id", "template_id", "turn_policy", "variant_index", "tools_present", "required_tools"),
    "rendered_conversations": ("task_id", "guard_violations"),
    "expected_traces": ("task_id", "drop_reason"),
    "schema_validated_traces": ("task_id", "valid"),
    "replay_validated_tasks": ("task_id", "valid", "reason"),
}
"""Table to the columns that a decision is made of."""


def read_decisions(release: Release) -> Iterator[Decision]:
    """One decision a task, in task order, from a few columns of five tables read in step.

    Raises: ReleaseError `stage_tables_disagree` where a row is not of one task in all of them; DriftError
    `table_unreadable`.
    """
    tables = [_rows(release.run_dir / ARTIFACTS[name].file, columns) for name, columns in _COLUMNS.items()]
    for number, rows in enumerate(zip_longest(*tables, fillvalue=None), 1):
        ids = {name: None if row is None else row["task_id"] for name, row in zip(_COLUMNS, rows, strict=True)}
        problem = disagreement(ids, f"row {number}")
        if problem is not None:
            raise ReleaseError(problem)
        yield decide(*(row for row in rows if row is not None))


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for values in read_columns(path, columns):
        yield dict(zip(columns, values, strict=True))
