"""What has one task's oracle answered so far, and what did the calls of one more turn come to? Rule: evaluation.md §7.

A session is a value: its calls. Each turn runs them all again from reset in a new process, then the new ones; what came
before must come out the same to the last byte. Nothing here waits for anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from bfcl.canonical import Json
from bfcl.evaluate.records import CommitState, EpisodeStatus, ExecutionStatus
from bfcl.oracle.protocol import Breakdown, Episode, EpisodeResult, PlannedCall
from bfcl.records.ids import TaskId

MALFORMED: Final = frozenset({"non_object_result"})
"""Breakdowns that say a call returned JSON, yet no object."""
LATE: Final = frozenset({"tool_timeout", "episode_timeout"})
"""Breakdowns of a call that was still running when its time was up."""

_UNREADABLE: Final = "null"
_STOPS: Final[Mapping[ExecutionStatus, EpisodeStatus]] = {
    "malformed_result": "oracle_result_malformed",
    "tool_error": "oracle_call_failed",
    "timeout": "oracle_timeout",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What became of one call that reached the oracle."""

    status: ExecutionStatus
    result: str | None
    """Canonical JSON; None where there is no usable one."""
    commit: CommitState
    state_after: str | None
    """Canonical JSON, where it was read."""
    detail: str | None = None

    @property
    def stops(self) -> EpisodeStatus | None:
        """How it ends the episode, if it does: not to know what was changed outranks everything."""
        return "unknown_commit_state" if self.commit == "unknown" else _STOPS.get(self.status)


class SessionBroken(Exception):
    """The session cannot go on; says why."""


class _Seen(NamedTuple):
    """A watched call's states. None where one could not be read."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A reset oracle and the calls that it has answered. `mutating` names tools around which state is read."""

    task_id: TaskId
    seed: int
    mutating: frozenset[str]
    calls: tuple[PlannedCall, ...] = ()
    results: tuple[str, ...] = ()
    seen: Mapping[int, _Seen] = field(default_factory=dict)
    """By number of call."""

    def turn(self, new: Sequence[PlannedCall]) -> Episode:
        """The episode that runs everything again and then `new`; its result is for `taken`."""
        calls = (*self.calls, *new)
        watched = frozenset(index for index, call in enumerate(calls) if call.tool in self.mutating)
        return Episode(task_id=self.task_id, seed=self.seed, calls=calls, observe="session", watched=watched)

    def last_turn(
        self,
        new: Sequence[PlannedCall],
        assertions: tuple[str, ...],
        task: Mapping[str, Json] | None,
        withheld: frozenset[str],
    ) -> Episode:
        """The same with what `ending` asks for behind it: one episode for two. Its result is for `parted`."""
        turn = self.turn(new)
        ending = self.ending(assertions, task, withheld)
        return replace(ending, calls=turn.calls, observe="ending", watched=turn.watched)

    def parted(self, new: Sequence[PlannedCall], result: EpisodeResult) -> tuple[EpisodeResult, EpisodeResult | None]:
        """What came of a last turn: as `turn` gives it, and as `ending` then gives it.

        The ending is None where a call broke, and where the ending itself did: what stopped it may be that both had to
        fit into one episode, and alone it tells how it ends.
        """
        calls = (*self.calls, *new)
        watched = 2 * sum(call.tool in self.mutating for call in calls)
        broken = result.breakdown
        through = len(result.results) == len(calls) and len(result.states) >= watched
        if not through or (broken is not None and broken.phase not in ("state", "assertion")):
            return result, None
        turn = replace(result, states=result.states[:watched], assertions=(), breakdown=None)
        return turn, replace(result, states=result.states[watched:]) if broken is None else None

    def ending(self, assertions: tuple[str, ...], task: Mapping[str, Json] | None, withheld: frozenset[str]) -> Episode:
        """The episode that runs everything again, reads the final state, and asks `assertions`."""
        return Episode(
            task_id=self.task_id,
            seed=self.seed,
            calls=self.calls,
            assertions=assertions,
            task=task,
            withheld=withheld if assertions else frozenset(),
        )

    def taken(self, new: Sequence[PlannedCall], result: EpisodeResult) -> tuple[Session, tuple[Happened, ...]]:
        """The session after a turn, and what became of its calls up to the first that stops the episode.

        The session holds the calls that were answered; one that broke is never made again.
        Raises: SessionBroken where what came before did not come out the same.
        """
        calls = (*self.calls, *new)
        seen, left = _states(calls, self.mutating, result)
        self.check(result)
        for index, states in self.seen.items():
            if seen.get(index) != states:
                raise SessionBroken(f"the state around call {index} `{calls[index].tool}` differs when it is repeated")
        happened: list[Happened] = []
        for index in range(len(self.calls), len(calls)):
            happened.append(self._happened(calls[index].tool, index, result, (seen.get(index), left)))
            if happened[-1].stops is not None:
                break
        answered = sum(index < len(result.results) for index in range(len(self.calls) + len(happened)))
        whole = replace(
            self,
            calls=calls[:answered],
            results=result.results[:answered],
            seen={index: states for index, states in seen.items() if index < answered},
        )
        return whole, tuple(happened)

    def check(self, result: EpisodeResult) -> None:
        """See that calls that were answered before are answered the same. Raises: SessionBroken."""
        if result.breakdown is not None and result.breakdown.phase in ("import", "reset"):
            raise SessionBroken(f"the oracle could not be reset again: {told(result.breakdown)}")
        for index, (before, again) in enumerate(zip(self.results, result.results, strict=False)):
            if before != again:
                tool = self.calls[index].tool
                raise SessionBroken(f"call {index} `{tool}` answers differently when it is repeated")
        if len(result.results) < len(self.results):
            why = "" if result.breakdown is None else f": {told(result.breakdown)}"
            raise SessionBroken(f"{len(self.results)} calls were answered before, {len(result.results)} are now{why}")

    def _happened(
        self, tool: str, index: int, result: EpisodeResult, states: tuple[_Seen | None, str | None]
    ) -> Happened:
        seen, left = states
        broken = result.breakdown
        commit: CommitState = _commit(seen) if tool in self.mutating else "not_applicable"
        if index < len(result.results):
            status, detail = answered(result.results[index])
            return Happened(
                status=status,
                result=result.results[index],
                commit=commit,
                state_after=None if seen is None else seen.after,
                detail=detail if commit != "unknown" or broken is None else told(broken),
            )
        if broken is None:
            raise SessionBroken(f"call {index} `{tool}` has neither an answer nor a reason")
        return Happened(
            status=_failed(broken),
            result=None,
            commit=commit,
            state_after=left if seen is None else seen.after,
            detail=told(broken),
        )


def reset_broke(result: EpisodeResult) -> str | None:
    """Why an episode without calls was not reset, or None."""
    return None if result.breakdown is None else told(result.breakdown)


def told(broken: Breakdown) -> str:
    """A breakdown in words."""
    at = "" if broken.where is None else f" at {broken.where}"
    return f"{broken.code}: {broken.message}{at}"


def answered(result: str) -> tuple[Literal["completed", "business_rejection", "tool_error"], str | None]:
    """What a call came to whose answer is this object, and what is wrong with it."""
    error = json.loads(result).get("error")
    if not isinstance(error, dict):
        return "completed", None
    code = error.get("code")
    if isinstance(code, str) and code.strip():
        return "business_rejection", None
    return "tool_error", "the error has no `code`, expected non-empty text"


def _failed(broken: Breakdown) -> ExecutionStatus:
    if broken.phase == "call" and broken.code in MALFORMED:
        return "malformed_result"
    return "timeout" if broken.code in LATE else "tool_error"


def _commit(seen: _Seen | None) -> CommitState:
    if seen is None or seen.before is None or seen.after is None:
        return "unknown"
    return "not_committed" if seen.before == seen.after else "committed"


def _states(
    calls: Sequence[PlannedCall], mutating: frozenset[str], result: EpisodeResult
) -> tuple[dict[int, _Seen], str | None]:
    """The states around each watched call that was begun, and the one that a broken call left that is not watched."""
    readings = [None if text == _UNREADABLE else text for text in result.states]
    seen: dict[int, _Seen] = {}
    for index, call in enumerate(calls[: len(result.results) + 1]):
        if call.tool in mutating and readings:
            before, *after = readings[:2]
            seen[index] = _Seen(before, after[0] if after else None)
            readings = readings[2:]
    return seen, readings[0] if readings else None
