"""A release with real stage tables that verifies: tasks published, lost to each stage, and with texts meant to harm."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.records.ids import TaskId
from bfcl.records.surface import Surface, Turn, Violation
from bfcl.records.task import Task
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import AssertionOutcome, ReplayVerdict, ToolResult
from bfcl.release.decisions import read_decisions
from bfcl.release.read import Release, open_release
from bfcl.release.verify import verify_release
from bfcl.stages.manifest_blocks import count_blocks
from bfcl.stages.tally import tally
from tests.cli import runs
from tests.release import samples

MARKUP = '</script><img src="https://hostile.invalid/x" onerror="console.error(1)">'
ARABIC = "مرحبا بالعالم"
VIETNAMESE = "Chuyển khoản giúp tôi"


def release(run_dir: Path, lost: Sequence[dict[str, Any]] = (), *, count: int = 5) -> Release:
    """Raw tasks 1..count, task 2 with a broken guard and so not published, then the `lost`. It verifies."""
    samples.published(run_dir, count)
    tasks = [samples.task(number) for number in range(1, count + 1)]
    broken = Violation(guard="must_omit", key="slot", value="bar")
    records = [
        runs.records(
            one,
            task_instances=samples.expanded(one),
            rendered_conversations=samples.surface(one, [broken] if number == 2 else []),
        )
        for number, one in enumerate(tasks, 1)
    ]
    runs.write_run(run_dir, [*records, *lost])
    rehash(run_dir)
    return verify_release(run_dir)


def rehash(run_dir: Path) -> None:
    """Make the manifest fit the stage tables again, its counts included."""
    path = run_dir / "run_manifest.json"
    manifest = json.loads(path.read_bytes())
    for artifact in runs.CODECS:
        table = run_dir / "stage_cache" / f"{artifact}.parquet"
        manifest["artifacts"][artifact]["content_hash"] = sha256_file(table)
    path.write_bytes(readable_json(manifest))
    release = open_release(run_dir)
    published = frozenset(TaskId(row["task_id"]) for row in release.rows())
    manifest.update(count_blocks(tally(read_decisions(release), published), None, None))
    path.write_bytes(readable_json(manifest))


def lost_tasks() -> list[dict[str, Any]]:
    """One task a stage of every run: 101 by expected_trace, 102 by schema_validation, 103 by executable_replay."""
    underived, invalid, unstable = (samples.task(number) for number in (101, 102, 103))
    no_trace = dataclasses.replace(samples.trace(underived), derived=False, drop_reason="call_binding_failed", calls=())
    return [
        runs.records(
            underived,
            expected_traces=no_trace,
            schema_validated_traces=samples.schema(underived, valid=False),
            replay_validated_tasks=samples.replay(underived, "trace_not_derived"),
        ),
        runs.records(
            invalid,
            schema_validated_traces=samples.schema(invalid, valid=False),
            replay_validated_tasks=samples.replay(invalid, "schema_invalid"),
        ),
        runs.records(
            unstable,
            replay_validated_tasks=dataclasses.replace(
                samples.replay(unstable, "assertion_failed"),
                detail="assert_set: no",
                assertions=(AssertionOutcome(name="assert_set", status="failed", detail="no"),),
            ),
        ),
    ]


def hostile_task() -> dict[str, Any]:
    """A task lost in replay, each of whose texts would be markup if anything took it for that."""
    name = TaskId(f"plant__{MARKUP}__00000000000000aa")
    one: Task = dataclasses.replace(
        samples.task(0xAA),
        task_id=name,
        base_task_id=name,
        template_id=MARKUP,  # type: ignore[arg-type]
        category=f"{MARKUP}\x1b\x0b",
        difficulty=None,
        intent=MARKUP,
    )
    value = {MARKUP: [1.0, 12345678901234567890, ARABIC]}
    call = Call(turn_index=0, call_group=0, position_in_group=0, function_name=MARKUP, arguments=value)
    spoken: Surface = dataclasses.replace(
        samples.surface(one),
        language=f'ar" {MARKUP}',
        turns=(
            Turn(kind="user", content=ARABIC),
            Turn(kind="user", content=f"{VIETNAMESE} {MARKUP}"),
            Turn(kind="calls", call_group=0),
            Turn(kind="calls", call_group=1),
            Turn(kind="assistant_text", content=MARKUP),
        ),
    )
    expected: Trace = dataclasses.replace(samples.trace(one), calls=(call,))
    answer = ToolResult(
        turn_index=0, call_group=0, position_in_group=0, tool=MARKUP, arguments=value, result={"answer": MARKUP}
    )
    verdict: ReplayVerdict = dataclasses.replace(
        samples.replay(one, MARKUP),
        detail=MARKUP,
        tool_results=(answer,),
        assertions=(AssertionOutcome(name=MARKUP, status="error", detail=MARKUP),),
    )
    return runs.records(one, rendered_conversations=spoken, expected_traces=expected, replay_validated_tasks=verdict)
