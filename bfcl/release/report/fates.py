"""Where did each task of a run end, and what was heard of it on the way? Rule: generation.md §8, locating a lost task.

A task is lost to the first stage, in pipeline order, that dropped it; whatever later stages say follows from that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bfcl.errors import Problem, ReleaseError
from bfcl.release.read import Release
from bfcl.tables.benchmark import column_values
from bfcl.tables.codec import REPLAY_VERDICTS, SCHEMA_VERDICTS, SURFACES, TASKS, TRACES, Row
from bfcl.tables.parquet import read_rows

STOPS: Final[Mapping[str, str]] = {
    "render": "wording accepted",
    "expected_trace": "trace derived",
    "schema_validation": "schema valid",
    "executable_replay": "replay valid",
    "surface_quality": "wording of good quality",
    "dedup_balancing": "selected",
    "final_output": "published",
}
"""Stages that can lose a task, in pipeline order, with what can be said of the tasks that stay."""

LATER: Final[Mapping[str, str]] = {"surface_quality": "surface_validated_tasks", "dedup_balancing": "balanced_tasks"}
"""Stages that not every run has, with the artifact each leaves: it holds the tasks that came so far alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Why a task is not published: the stage, its reason code, more in words."""

    stage: str
    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One expanded task. `loss` is None where it is published."""

    task_id: str
    template_id: str
    intent: str | None
    category: str
    difficulty: str | None
    turn_policy: str
    language: str
    user_turns: int
    tools_present: tuple[str, ...]
    called: tuple[str, ...]
    """Function of each expected call, in order."""
    assertions: tuple[tuple[str, str], ...]
    """Name and status of each assertion that the replay came to."""
    loss: Loss | None


def together(release: Release, *artifacts: str) -> Iterator[tuple[Row, ...]]:
    """The rows of several stage tables side by side: they hold the same tasks in the same order.

    Raises: ReleaseError `release_rows_mismatch` where they do not, DriftError on a damaged table.
    """
    tables = [read_rows(release.run_dir / "stage_cache" / f"{artifact}.parquet", artifact) for artifact in artifacts]
    missing: Row = {"task_id": None}
    while True:
        rows = tuple(next(table, missing) for table in tables)
        first = rows[0]["task_id"]
        for artifact, row in zip(artifacts, rows, strict=True):
            if row["task_id"] != first:
                message = f"holds {_name(row)} where {artifacts[0]} holds {_name(rows[0])}"
                fix = "generate the benchmark again; stage tables are never edited"
                raise ReleaseError(Problem(code="release_rows_mismatch", subject=artifact, message=message, fix=fix))
        if first is None:
            return
        yield rows


def _name(row: Row) -> str:
    return "no row" if row["task_id"] is None else f"`{row['task_id']}`"


def seen_tasks(release: Release) -> Iterator[Seen]:
    """Every expanded task in table order, one in memory at a time. Raises as `together` does."""
    published = column_values(release.path("published"), "task_id")
    losses = _late_losses(release)
    artifacts = [each.artifact for each in (TASKS, SURFACES, TRACES, SCHEMA_VERDICTS, REPLAY_VERDICTS)]
    for task, surface, trace, schema, replay in together(release, *artifacts):
        task_id: str = task["task_id"]
        loss = None
        if task_id not in published:
            loss = early_loss(surface, trace, schema, replay) or losses.get(task_id) or _UNSELECTED
        yield Seen(
            task_id=task_id,
            template_id=task["template_id"],
            intent=task["intent"],
            category=task["category"],
            difficulty=task["difficulty"],
            turn_policy=task["turn_policy"],
            language=surface["language"],
            user_turns=surface["num_user_turns"],
            tools_present=tuple(task["tools_present"]),
            called=tuple(call["function_name"] for call in json.loads(trace["expected_tool_calls"])),
            assertions=tuple((each["name"], each["status"]) for each in json.loads(replay["assertions"])),
            loss=loss,
        )


_UNSELECTED: Final = Loss(stage="final_output", reason="not_selected")


def early_loss(surface: Row, trace: Row, schema: Row, replay: Row) -> Loss | None:
    """The first drop among the stages of every run."""
    if not surface["accepted"]:
        broken = json.loads(surface["guard_violations"])
        detail = "; ".join(_violation(each) for each in broken)
        return Loss(stage="render", reason=", ".join(sorted({each["guard"] for each in broken})), detail=detail)
    if not trace["derived"]:
        return Loss(stage="expected_trace", reason=_reason(trace["drop_reason"]))
    if not schema["valid"]:
        failures = json.loads(schema["failures"])
        told = "; ".join(f"{each['code']}: {each['message']}" for each in failures) or None
        return Loss(stage="schema_validation", reason=_reason(schema["reject_reason"]), detail=told)
    if not replay["valid"]:
        return Loss(stage="executable_replay", reason=_reason(replay["reason"]), detail=replay["detail"])
    return None


def _violation(violation: Mapping[str, str]) -> str:
    rest = ", ".join(f"{key} `{value}`" for key, value in violation.items() if key != "guard")
    return f"{violation['guard']}: {rest}"


def _reason(reason: str | None) -> str:
    return reason or "unknown"


def _late_losses(release: Release) -> dict[str, Loss]:
    rows: dict[str, Iterable[Row]] = {
        stage: read_rows(release.run_dir / "stage_cache" / f"{artifact}.parquet", artifact)
        for stage, artifact in LATER.items()
        if artifact in release.artifacts
    }
    return late_losses(rows.get("surface_quality", ()), rows.get("dedup_balancing", ()))


def late_losses(surface_quality: Iterable[Row], dedup_balancing: Iterable[Row]) -> dict[str, Loss]:
    """Task id to its loss, from the rows of `surface_validated_tasks` and `balanced_tasks`."""
    losses = {}
    for row in surface_quality:
        if row["decision"] != "kept":
            reasons = _reason(", ".join(row["drop_reasons"]))
            decided = None if row["drop_source"] is None else f"decided by {row['drop_source']}"
            losses[row["task_id"]] = Loss(stage="surface_quality", reason=reasons, detail=decided)
    for row in dedup_balancing:
        if not row["selected"]:
            detail: str | None = row["balance_dimension"]
            if row["is_duplicate"] and row["representative_task_id"] is not None:
                detail = f"represented by {row['representative_task_id']}"
            reason = _reason(row["drop_reason"])
            losses.setdefault(row["task_id"], Loss(stage="dedup_balancing", reason=reason, detail=detail))
    return losses
