"""Which survivors are out before anything is balanced: duplicates, rows over a limit? Rule: generation.md §3.8.4-5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bfcl.config.model import TaskGeneration
from bfcl.errors import Problem, StageError, raise_all
from bfcl.records.balance import BalanceDrop
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.candidate import Candidate, CoverageBucket, Standing

HARD_LIMITS: Final[Mapping[BalanceDrop, str]] = {
    "max_turns_exceeded": "task_generation.max_turns",
    "max_tool_calls_exceeded": "task_generation.max_tool_calls",
}
"""Drop reason to the setting it comes from, in the order in which a row's reason is looked for."""


def hard_limit(candidate: Candidate, generation: TaskGeneration) -> BalanceDrop | None:
    """The first limit a row is over."""
    if generation.max_turns is not None and candidate.num_turns > generation.max_turns:
        return "max_turns_exceeded"
    if generation.max_tool_calls is not None and candidate.num_tool_calls > generation.max_tool_calls:
        return "max_tool_calls_exceeded"
    return None


def dropped(
    candidates: Sequence[Candidate],
    standings: Mapping[TaskId, Standing],
    generation: TaskGeneration,
    *,
    remove_duplicates: bool,
) -> dict[TaskId, BalanceDrop]:
    """Rows that are out before anything is balanced, with the reason: a removed duplicate first, then a hard limit.

    Raises: StageError `coverage_bucket_emptied`, one problem a coverage bucket no row of which is left.
    """
    drops: dict[TaskId, BalanceDrop] = {}
    for candidate in candidates:
        if remove_duplicates and standings[candidate.task_id].is_duplicate:
            drops[candidate.task_id] = "semantic_duplicate"
        elif (reason := hard_limit(candidate, generation)) is not None:
            drops[candidate.task_id] = reason
    raise_all(StageError, [_emptied(*found) for found in _emptied_buckets(candidates, drops)])
    return drops


def _emptied_buckets(
    candidates: Iterable[Candidate], drops: Mapping[TaskId, BalanceDrop]
) -> list[tuple[CoverageBucket, int, list[str]]]:
    """Buckets without a row left, sorted: the bucket, its rows, the settings that dropped them."""
    members: dict[CoverageBucket, list[TaskId]] = {}
    for candidate in candidates:
        members.setdefault(candidate.coverage_bucket, []).append(candidate.task_id)
    return [
        (bucket, len(rows), [name for reason, name in HARD_LIMITS.items() if reason in map(drops.get, rows)])
        for bucket, rows in sorted(members.items())
        if all(row in drops for row in rows)
    ]


def _emptied(bucket: CoverageBucket, rows: int, settings: Sequence[str]) -> Problem:
    named = " and ".join(f"`{name}`" for name in settings)
    return Problem(
        code="coverage_bucket_emptied",
        subject=bucket_text(bucket),
        message=f"none of its {rows} rows is within {named}; expected one at least",
        fix="raise the limit, or take out the templates that cannot keep to it",
    )


def bucket_text(bucket: CoverageBucket) -> str:
    """How messages and reports name a coverage bucket."""
    language, policy, edges = bucket
    return "/".join((language, policy, "+".join(edges) or "no edge"))
