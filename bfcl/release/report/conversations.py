"""Which conversations can be read in the page, and how are they packed into it?

Published and raw tasks are shown as their benchmark row has them; a task lost on the way as far as the stages came.
Packed: canonical JSON lines joined into one document, gzip, so that a page of many thousand conversations still opens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import sha256_bytes
from bfcl.errors import Problem, ReleaseError
from bfcl.release.document.packing import Packer, json_text
from bfcl.release.read import Release
from bfcl.release.report.fates import Seen, together
from bfcl.tables.benchmark import BenchmarkRow
from bfcl.tables.codec import REPLAY_VERDICTS, SURFACES, TASKS, TRACES, Row

LIMIT: Final = 20_000
"""More conversations than this make a browser slow: a page of a larger run holds a sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """`data` is gzip of the JSON object `{rows, systems}`; `rows` counts what it holds, `tasks` what the run has."""

    data: bytes
    rows: int
    tasks: int


def chosen(tasks: Sequence[tuple[str, bool]], limit: int = LIMIT) -> set[str]:
    """Ids to show, of tasks given as id and whether it is lost: all, or a sample that the ids alone decide.

    Lost tasks get up to half of the sample, since they are few and what people look for.
    """
    if len(tasks) <= limit:
        return {task_id for task_id, _ in tasks}
    lost = nsmallest(limit // 2, (task_id for task_id, is_lost in tasks if is_lost), key=_rank)
    kept = nsmallest(limit - len(lost), (task_id for task_id, is_lost in tasks if not is_lost), key=_rank)
    return {*lost, *kept}


def _rank(task_id: str) -> bytes:
    return sha256_bytes(task_id.encode())


def pack(release: Release, tasks: Sequence[Seen], limit: int = LIMIT) -> Packed:
    """The conversations of a run in table order. `tasks` are all of it, in that order.

    Raises: ReleaseError, DriftError as the tables are damaged or do not fit each other.
    """
    wanted = chosen([(task.task_id, task.loss is not None) for task in tasks], limit)
    systems: dict[str, int] = {}
    packer = Packer()
    packer.add(_entries(release, tasks, wanted, systems))
    data = packer.end(systems=list(systems))
    return Packed(data=data, rows=len(wanted), tasks=len(tasks))


def _entries(
    release: Release, tasks: Sequence[Seen], wanted: set[str], systems: dict[str, int]
) -> Iterator[dict[str, Json]]:
    """One entry a wanted task. `systems` collects system prompts, each with its number."""
    raw = release.rows("raw")
    row = next(raw, None)
    artifacts = [each.artifact for each in (TASKS, SURFACES, TRACES, REPLAY_VERDICTS)]
    for task, (_, surface, trace, replay) in zip(tasks, together(release, *artifacts), strict=True):
        own = None
        if row is not None and row["task_id"] == task.task_id:
            own, row = row, next(raw, None)
        if task.task_id in wanted:
            turns = _stage_turns(surface, trace, replay) if own is None else _row_turns(own)
            yield {**_about(task, replay), "turns": turns, "system": None if own is None else _system(own, systems)}
    if row is not None:
        message = f"row `{row['task_id']}` is in another order than in task_instances"
        fix = "generate the benchmark again; published files are never edited"
        raise ReleaseError(Problem(code="release_rows_mismatch", subject=release.raw.file, message=message, fix=fix))


def _about(task: Seen, replay: Row) -> dict[str, Json]:
    loss = task.loss
    return {
        "id": task.task_id,
        "template": task.template_id,
        "policy": task.turn_policy,
        "category": task.category,
        "difficulty": task.difficulty,
        "intent": task.intent,
        "language": task.language,
        "outcome": "published" if loss is None else loss.stage,
        "why": None if loss is None else ": ".join(filter(None, (loss.reason, loss.detail))),
        "assertions": [[each["name"], each["status"], each["detail"]] for each in json.loads(replay["assertions"])],
    }


def _system(row: BenchmarkRow, systems: dict[str, int]) -> int | None:
    prompt = next((each["content"] for each in row["messages"] if each["role"] == "system"), None)
    return None if prompt is None else systems.setdefault(prompt, len(systems))


def _row_turns(row: BenchmarkRow) -> list[Json]:
    """What is said as `[speaker, text]`; a batch of calls as `["calls", [[name, [[argument, value]], result]]]`."""
    results = {each["tool_call_id"]: each["content"] for each in row["messages"] if each["role"] == "tool"}
    turns: list[Json] = []
    for message in row["messages"]:
        if message["tool_calls"]:
            batch: list[Json] = []
            for call in message["tool_calls"]:
                result = results.get(call["id"])
                arguments = json.loads(call["function"]["arguments"])
                batch.append(_call(call["function"]["name"], arguments, None if result is None else json.loads(result)))
            turns.append(["calls", batch])
        elif message["role"] in ("user", "assistant"):
            turns.append([message["role"], message["content"]])
    return turns


def _stage_turns(surface: Row, trace: Row, replay: Row) -> list[Json]:
    """The same shape, from what the stages left of a task that is in no benchmark table."""
    calls = json.loads(trace["expected_tool_calls"])
    results = {
        (each["call_group"], each["position_in_group"]): each["result"] for each in json.loads(replay["tool_results"])
    }
    turns: list[Json] = []
    for turn in json.loads(surface["turns"]):
        if turn["kind"] != "calls":
            turns.append(["user" if turn["kind"] == "user" else "assistant", turn["content"]])
            continue
        batch: list[Json] = [
            _call(
                call["function_name"], call["arguments"], results.get((call["call_group"], call["position_in_group"]))
            )
            for call in calls
            if call["call_group"] == turn["call_group"]
        ]
        turns.append(["calls", batch])
    return turns


def _call(name: str, arguments: dict[str, Json], result: Json) -> Json:
    return [
        name,
        [[key, json_text(value)] for key, value in arguments.items()],
        None if result is None else json_text(result),
    ]
