"""Is the running episode late, and what is said about one that was stopped? Rule: pack.md §7.5.

This module runs on both sides: standard library only. A breakdown is a dict with the fields of `protocol.Breakdown`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bfcl.oracle.scratch import ASSERTION, CALL, DONE, IMPORT, NO_INDEX, PHASES, RESET, RUN_SPAN, STATE, Scratch

LEAVING_S = 1.0
"""How long a process may take to go away once its answer is whole."""
LONGEST_WAIT_S = 3600.0
"""After which one looks again: a limit may be longer than any timer can be set for."""

_ticks = time.monotonic_ns
_CODES = {RESET: "reset_timeout", CALL: "tool_timeout", STATE: "tool_timeout", ASSERTION: "assertion_timeout"}


class Limits:
    """Seconds allowed to each phase, and to an episode."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.reset, self.tool, self.assertion = seconds["reset"], seconds["tool"], seconds["assertion"]
        self.episode = seconds["episode"]
        self._phases = {
            IMPORT: seconds["import"],
            RESET: self.reset,
            CALL: self.tool,
            STATE: self.tool,
            ASSERTION: self.assertion,
            DONE: LEAVING_S,
        }
        self.shortest = min(self._phases.values())

    def of(self, phase: int) -> float:
        return self._phases[phase]

    def remaining(self, scratch: Scratch) -> float:
        """Seconds until the running episode is late as far as its notes tell; zero or less means late."""
        started, phase, _ = scratch.note()
        now = _ticks()
        return min(
            self._phases[phase] - (now - started) / 1e9,
            self.episode - (now - scratch.began()) / 1e9,
        )

    def patience(self, scratch: Scratch) -> float:
        """Seconds to wait before looking again, never negative: whatever phase comes next is then still in time."""
        return max(0.0, min(self.remaining(scratch), self.shortest, LONGEST_WAIT_S))

    def is_late(self, scratch: Scratch) -> bool:
        """Whether a deadline has passed, asked twice so that a note being written cannot mislead."""
        before = scratch.note()
        return self.remaining(scratch) <= 0 and scratch.note() == before and self.remaining(scratch) <= 0


def breakdown(
    code: str, message: str, phase: int, *, call_index: int | None = None, where: str | None = None
) -> dict[str, Any]:
    """The mapping that becomes a `protocol.Breakdown`."""
    shown = PHASES[phase] if phase != DONE else "assertion"
    return {"code": code, "message": message, "phase": shown, "call_index": call_index, "where": where}


def subject(phase: int, index: int, request: Mapping[str, Any]) -> str:
    """What an episode was doing, in words, from the request it was given."""
    if phase == CALL:
        return "list_tools" if index == NO_INDEX else f"call {index} `{_item(request, 'calls', index)}`"
    if phase == ASSERTION:
        return f"assertion `{_item(request, 'assertions', index)}`"
    return {IMPORT: "import", RESET: "reset", STATE: "get_state"}.get(phase, "the end of the episode")


def _item(request: Mapping[str, Any], key: str, index: int) -> str:
    items: Sequence[Any] = request.get(key, ())
    if not 0 <= index < len(items):
        return "?"
    return str(items[index][0] if key == "calls" else items[index])


def late(scratch: Scratch, limits: Limits, request: Mapping[str, Any]) -> dict[str, Any]:
    """The breakdown of an episode stopped at a deadline."""
    started, phase, what, call_index = _noted(scratch, request)
    if phase in _CODES and (_ticks() - started) / 1e9 >= limits.of(phase):
        message = f"{what} did not return within {limits.of(phase):g} s"
        return breakdown(_CODES[phase], message, phase, call_index=call_index)
    message = f"the episode did not end within {limits.episode:g} s; it was in {what}"
    return breakdown("episode_timeout", message, phase, call_index=call_index)


def crashed(scratch: Scratch, status: int | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """The breakdown of an episode whose process went away. `status` is an exit code, negative for a signal."""
    _, phase, what, call_index = _noted(scratch, request)
    return breakdown("worker_crashed", f"the process {ending(status)} in {what}", phase, call_index=call_index)


def _noted(scratch: Scratch, request: Mapping[str, Any]) -> tuple[int, int, str, int | None]:
    """Since when an episode is in which phase, what it is doing, and with which call of its run."""
    started, phase, noted = scratch.note()
    number = max(0, (noted + 1) // RUN_SPAN)
    index = noted - number * RUN_SPAN
    further = request.get("also", ())
    if 0 < number <= len(further):
        request = {**request, "calls": further[number - 1]}
    call_index = index if phase in (CALL, STATE) and index != NO_INDEX else None
    return started, phase, subject(phase, index, request), call_index


def ending(status: int | None) -> str:
    """How a process ended, in words."""
    if status is None:
        return "stopped answering"
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
