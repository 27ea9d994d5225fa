"""Which scripts can a run not play to their end, as its configuration stands? Rule: evaluation.md §17.5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bfcl.errors import Problem
from bfcl.evaluate.records import Script
from bfcl.evaluate.settings.model import Candidate, EvalSettings

TURNS_BEYOND_LIMIT: Final = "turns_beyond_limit"
TOOL_CHOICE_BARS_TURNS: Final = "tool_choice_bars_turns"


def preflight_turns(scripts: Sequence[Script], settings: EvalSettings) -> tuple[Problem, ...]:
    """Warnings, known before the first request: too few turns allowed, then by candidate a tool choice that bars turns.

    None of them refuses the run: a task that cannot be finished is a failed task, and somebody may want just that.
    """
    candidates = (found for one in settings.candidates for found in _barred(scripts, one))
    return (*_beyond(scripts, settings.limits.max_turns), *candidates)


def _beyond(scripts: Sequence[Script], max_turns: int) -> Iterator[Problem]:
    long = [script for script in scripts if len(script.turns) > max_turns]
    if not long:
        return
    longest = max(long, key=lambda script: len(script.turns))
    turns = len(longest.turns)
    message = (
        f"`max_turns` is {max_turns}, but {len(long)} of {len(scripts)} tasks need more turns; "
        f"{longest.task_id} needs {turns}"
    )
    yield Problem(
        code=TURNS_BEYOND_LIMIT, message=message, field="limits.max_turns", fix=f"set `limits.max_turns: {turns}`"
    )


def _barred(scripts: Sequence[Script], candidate: Candidate) -> Iterator[Problem]:
    choice = candidate.inference.tool_choice
    if choice == "auto":
        return
    barred = "text" if choice == "required" else "call"
    count = sum(any(bool(turn.calls) == (barred == "call") for turn in script.turns) for script in scripts)
    if count == 0:
        return
    field = f"candidates[{candidate.alias}].inference.tool_choice"
    message = f"`{choice}` bars every {barred} turn, and {count} of {len(scripts)} tasks have one"
    fix = "set `tool_choice: auto`; those tasks cannot be completed otherwise"
    yield Problem(code=TOOL_CHOICE_BARS_TURNS, message=message, subject=field, field=field, fix=fix)
