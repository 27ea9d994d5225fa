"""What would a run cost at most, before anybody is asked? Rule: evaluation.md §17.6.

Prompts are those of a candidate that does everything right; a tokenizer is the provider's own, so tokens are estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.artifacts.result import scope_of
from bfcl.evaluate.records import Script, ScriptTurn
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.settings.hashes import REPEATING
from bfcl.evaluate.settings.model import EvalSettings

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
    remaining: Estimate | None = None
    """What is left of it where answers are taken over from another run's record; None where there is no such run."""


class Cost(NamedTuple):
    """What some conversations come to: assistant turns, bytes of their prompts, requests without retries at most."""

    turns: int
    prompt_bytes: int
    requests: int


def estimate(prepared: Prepared, hidden: Sequence[Script] = ()) -> Estimate:
    """Add it up. `hidden` are the scripts of private tasks, which every candidate is asked in one trial."""
    settings = prepared.settings
    trials, drives = settings.repeats.trials, drives_of(settings)
    own = {task_id: cost_of(settings, script) for task_id, script in prepared.scripts.items()}
    planned = [own[task_id] for one in prepared.plan.candidates for task_id in one.task_ids]
    return total(
        settings,
        [
            *(Cost(trials * turns, trials * size, drives * trials * asked) for turns, size, asked in planned),
            *private_costs(settings, hidden),
        ],
    )


def total(settings: EvalSettings, costs: Iterable[Cost]) -> Estimate:
    """The sum, with every retry."""
    turns = size = requests = 0
    for cost in costs:
        turns += cost.turns
        size += cost.prompt_bytes
        requests += cost.requests
    return Estimate(
        turns=turns,
        prompt_tokens=size // BYTES_PER_TOKEN,
        request_ceiling=requests * (1 + settings.limits.max_retries),
    )


def private_costs(settings: EvalSettings, hidden: Sequence[Script]) -> Iterator[Cost]:
    """Of private tasks, for every candidate."""
    for _ in settings.candidates:
        yield from (cost_of(settings, script) for script in hidden)


def cost_of(settings: EvalSettings, script: Script, answered: int = 0) -> Cost:
    """Of one conversation that is driven once, but for its first turns that are answered already."""
    most = settings.limits.max_turns
    left = list(_prompts(script, most))[answered:]
    asked = max(most - answered, 0) if finds_own_way(settings) else len(left)
    return Cost(len(left), sum(left), asked)


def finds_own_way(settings: EvalSettings) -> bool:
    """Whether conversations may take more turns than their scripts have."""
    return scope_of(settings) != "trace" and settings.scoring.executable_continuation == "live"


def drives_of(settings: EvalSettings) -> int:
    """How often each trial of a task is driven at most."""
    return 2 if settings.schema_version == REPEATING else 1


def _prompts(script: Script, most: int) -> Iterator[int]:
    """Bytes of the prompt of each turn: the tools and the whole conversation so far."""
    tools = _size(script.tools)
    so_far = _size(script.seed_messages)
    for turn in script.turns[:most]:
        yield tools + so_far
        so_far += _turn_bytes(turn)


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
