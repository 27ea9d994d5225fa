"""Which tasks did a stage drop, and why? Read from a few columns of its table, so that it costs little at any size.

Rule: generation.md §8, locating a lost task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from bfcl.errors import DriftError, Problem
from bfcl.records.ids import TaskId, TemplateId

_UNNAMED: Final = "unknown"


class Dropped(NamedTuple):
    """A task and the reason the stage gives, several joined by a comma."""

    task_id: TaskId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Where a stage's table says who passed and why another did not: columns of the first file it writes."""

    stage: str
    passed: str
    """Column that is true for a task that goes on."""
    reason: str
    words: Callable[[Any], Sequence[str]]
    """A value of the column `reason` to its codes."""


def _guards(value: str) -> list[str]:
    return list(dict.fromkeys(str(one["guard"]) for one in json.loads(value)))


def _code(value: str | None) -> list[str]:
    return [] if value is None else [value]


VERDICTS: Final = (
    Verdicts(stage="render", passed="accepted", reason="guard_violations", words=_guards),
    Verdicts(stage="expected_trace", passed="derived", reason="drop_reason", words=_code),
    Verdicts(stage="schema_validation", passed="valid", reason="reject_reason", words=_code),
    Verdicts(stage="executable_replay", passed="valid", reason="reason", words=_code),
    Verdicts(stage="surface_quality", passed="accepted", reason="drop_reasons", words=tuple),
    Verdicts(stage="dedup_balancing", passed="selected", reason="drop_reason", words=_code),
)
"""Every stage that may drop a task, in pipeline order. Each holds a row for what reached it, dropped or not."""


def read_dropped(path: Path, verdicts: Verdicts) -> Iterator[Dropped]:
    """The dropped tasks of a stage's table, in row order. Raises DriftError `table_unreadable`."""
    for task_id, passed, reason in read_columns(path, ("task_id", verdicts.passed, verdicts.reason)):
        if not passed:
            yield Dropped(TaskId(task_id), ", ".join(verdicts.words(reason)) or _UNNAMED)


def read_templates(path: Path) -> dict[TaskId, TemplateId]:
    """Task to template, in row order, of `task_instances.parquet`. Raises DriftError `table_unreadable`."""
    found = read_columns(path, ("task_id", "template_id"))
    return {TaskId(task_id): TemplateId(template_id) for task_id, template_id in found}


def read_columns(path: Path, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The values of a few columns of a table, row by row. Raises DriftError `table_unreadable`."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=list(names)):
                yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    except (pa.ArrowInvalid, KeyError, OSError) as error:
        message = f"cannot be read: {str(error).splitlines()[0]}"
        fix = "run `doit generate` again, which writes the table anew"
        raise DriftError(Problem(code="table_unreadable", subject=path.name, message=message, fix=fix)) from None
