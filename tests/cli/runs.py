"""Run trees with real stage tables, for the commands that read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bfcl.graph.layout import RunTree
from bfcl.records.task import Task
from bfcl.tables.parquet import TableWriter
from tests.release import samples

CODECS = samples.CODECS
records = samples.records


def write_run(root: Path, tasks: Sequence[dict[str, Any]], *, without: Sequence[str] = ()) -> RunTree:
    """The stage tables of a run below `root`, but for those named `without`."""
    run = RunTree(root)
    run.stage_cache.mkdir(parents=True, exist_ok=True)
    for artifact, codec in CODECS.items():
        if artifact not in without:
            with TableWriter(run.stage_cache / f"{artifact}.parquet", artifact) as table:
                table.write([codec.encode(each[artifact]) for each in tasks if each[artifact] is not None])
                table.close()
    return run


def good_run(root: Path, count: int = 3) -> RunTree:
    """Tasks 1..count, none dropped, nothing published."""
    return write_run(root, [records(samples.task(number)) for number in range(1, count + 1)])


def renamed(of: Task, task_id: str) -> Task:
    """The task under another id."""
    return dataclasses.replace(of, task_id=task_id, base_task_id=task_id)  # type: ignore[arg-type]
