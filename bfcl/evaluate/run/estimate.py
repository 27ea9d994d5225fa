"""What would a run cost at most, before anybody is asked? Rule: evaluation.md §17.6.

Prompts are those of a candidate that does everything right; a tokenizer is the provider's own, so tokens are estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.artifacts.result import scope_of
from bfcl.evaluate.records import Script, ScriptTurn
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.settings.hashes import REPEATING

BYTES_PER_TOKEN: Final = 4
"""Of UTF-8, as common tokenizers have it for English and JSON."""
_WRAPPING: Final = 60
"""Bytes around one message or call on the wire: role, id, type, braces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Over all candidates and trials."""

    turns: int
    """Assistant turns of a run in which every task reaches its end."""
    prompt_tokens: int
    """About what is sent for them."""
    request_ceiling: int
    """HTTP requests that are never exceeded, every retry and every re-driven trial counted."""


def estimate(prepared: Prepared, hidden: Sequence[Script] = ()) -> Estimate:
    """Add it up. `hidden` are the scripts of private tasks, which every candidate is asked in one trial."""
    settings = prepared.settings
    most = settings.limits.max_turns
    sizes = {task_id: _prompt_bytes(script, most) for task_id, script in prepared.scripts.items()}
    lengths = {task_id: min(len(script.turns), most) for task_id, script in prepared.scripts.items()}
    planned = [task_id for one in prepared.plan.candidates for task_id in one.task_ids]
    trials = settings.repeats.trials
    free = scope_of(settings) != "trace" and settings.scoring.executable_continuation == "live"
    asked = len(planned) * most if free else sum(lengths[task_id] for task_id in planned)
    drives = 2 * trials if settings.schema_version == REPEATING else trials
    private = len(settings.candidates) * sum(min(len(script.turns), most) for script in hidden)
    private_asked = len(settings.candidates) * len(hidden) * most if free else private
    private_bytes = len(settings.candidates) * sum(_prompt_bytes(script, most) for script in hidden)
    return Estimate(
        turns=trials * sum(lengths[task_id] for task_id in planned) + private,
        prompt_tokens=(trials * sum(sizes[task_id] for task_id in planned) + private_bytes) // BYTES_PER_TOKEN,
        request_ceiling=(drives * asked + private_asked) * (1 + settings.limits.max_retries),
    )


def _prompt_bytes(script: Script, most: int) -> int:
    """Bytes of all prompts of one task: each holds the tools and the whole conversation so far."""
    tools = _size(script.tools)
    so_far = _size(script.seed_messages)
    total = 0
    for turn in script.turns[:most]:
        total += tools + so_far
        so_far += _turn_bytes(turn)
    return total


def _turn_bytes(turn: ScriptTurn) -> int:
    called = sum(
        len(call.tool)
        + len(canonical_text(call.arguments).encode())
        + len(call.recorded_result.encode())
        + 2 * _WRAPPING
        for call in turn.calls
    )
    said = [len(text.encode()) + _WRAPPING for text in (turn.text, turn.user_after) if text is not None]
    return called + sum(said)


def _size(values: Iterable[Json]) -> int:
    return sum(len(canonical_text(value).encode()) for value in values)
