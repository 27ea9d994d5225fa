"""Run trees with real stage tables, for the commands that read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfcl.graph.layout import RunTree
from bfcl.records.plan import Plan
from bfcl.records.task import Task
from bfcl.tables.codec import PLANS, REPLAY_VERDICTS, SCHEMA_VERDICTS, SURFACES, TASKS, TRACES, Codec
from bfcl.tables.parquet import TableWriter
from tests.release import samples

CODECS: Mapping[str, Codec[Any]] = {
    codec.artifact: codec for codec in (TASKS, PLANS, SURFACES, TRACES, SCHEMA_VERDICTS, REPLAY_VERDICTS)
}


def plan(of: Task) -> Plan:
    return Plan(
        task_id=of.task_id,
        template_id=of.template_id,
        turn_policy=of.turn_policy,
        num_user_turns=2,
        num_tool_calls=3,
        is_multi_turn=True,
        has_user_confirmation=True,
        has_slot_correction=False,
        steps=({"kind": "user", "source": "first_turn"},),
    )


def records(of: Task, **edits: Any) -> dict[str, Any]:
    """Artifact name to the record of a task that passes every stage; `edits` replace records, None leaves one out."""
    good = {
        "task_instances": of,
        "conversation_plans": plan(of),
        "rendered_conversations": samples.surface(of),
        "expected_traces": samples.trace(of),
        "schema_validated_traces": samples.schema(of),
        "replay_validated_tasks": samples.replay(of),
    }
    assert edits.keys() <= good.keys()
    return {**good, **edits}


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
