"""Where do the tool results of an episode come from, recorded or live? Rule: evaluation.md §6, §7.

A source of results releases texts and never decides on the conversation: whether a turn advances is the driver's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bfcl.evaluate.records import (
    AssertionEvidence,
    CallMatch,
    EpisodeStatus,
    Execution,
    GoldCall,
    Resolution,
    Script,
    ScriptTurn,
)
from bfcl.modelio.exchange import ChatResponse, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What the calls of one reply came to.

    `texts` has one result per call in the reply's order; of a turn that does not advance it may stay empty, since only
    a live continuation goes on from there, and that hands back what `executions` say. `executions` is parallel to the
    calls, or empty where results are recorded. `status` ends the episode, and outranks a mismatch of the turn.
    """

    texts: tuple[str, ...] = ()
    executions: tuple[Execution, ...] = ()
    status: EpisodeStatus | None = None
    detail: str | None = None
    """Prose; outside every hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """How an episode ends once its results are closed. `status` is the one closed with, or a worse one."""

    status: EpisodeStatus
    assertions: tuple[AssertionEvidence, ...] | None = None
    """None where they were not run."""
    final_state: str | None = None
    state_known: bool = True
    declared_assertions: tuple[str, ...] = ()
    detail: str | None = None


class Results(Protocol):
    """The results of one episode, used once: `open`, then `gold` and `release` turn by turn, then `close`.

    An exception out of any method ends the run, so that `close` is then not called: a source holds nothing that
    outlives it.
    """

    async def open(self, script: Script) -> EpisodeStatus | None:
        """Make ready. A status (`oracle_reset_failed`) where the episode ends before its first turn."""
        ...

    def gold(self, turn: ScriptTurn) -> tuple[tuple[GoldCall, ...], tuple[Resolution, ...]]:
        """What a turn expects, asked before the candidate is: calls parallel to `turn.calls`, and what became of
        their dependent arguments."""
        ...

    async def release(
        self, turn: ScriptTurn, response: ChatResponse, matches: Sequence[CallMatch], *, advancing: bool
    ) -> Released:
        """What the calls of a reply come to; asked of every usable reply that makes calls, on text turns too.

        `matches` is parallel to the calls and holds them against `gold(turn)`. `advancing` says that the turn goes
        on if nothing breaks; it is false for an incomplete reply, for a mismatch and for unusable call ids.
        """
        ...

    async def close(self, status: EpisodeStatus) -> Closing:
        """End the episode that came to `status`: final state and assertions, where there are any."""
        ...


def usable_call_ids(calls: Sequence[ToolCall]) -> bool:
    """Whether every call has an id of its own, so that a result can be handed back to it."""
    ids = [call.id for call in calls]
    return all(ids) and len(set(ids)) == len(ids)


class RecordedResults:
    """Trace mode: the results are those of the row, and nothing runs."""

    async def open(self, script: Script) -> EpisodeStatus | None:  # noqa: ARG002 the protocol has it
        """Nothing to make ready."""
        return None

    def gold(self, turn: ScriptTurn) -> tuple[tuple[GoldCall, ...], tuple[Resolution, ...]]:
        """The row's calls as they stand: their dependent arguments belong to the recorded results."""
        return turn.calls, ()

    async def release(
        self,
        turn: ScriptTurn,
        response: ChatResponse,  # noqa: ARG002 the protocol has it
        matches: Sequence[CallMatch],
        *,
        advancing: bool,
    ) -> Released:
        """The recorded text of the gold call that each call claims; nothing of a turn that does not advance."""
        if not advancing:
            return Released()
        recorded = {call.index: call.recorded_result for call in turn.calls}
        return Released(texts=tuple(recorded[match.gold_index] for match in matches if match.gold_index is not None))

    async def close(self, status: EpisodeStatus) -> Closing:
        """The status as it is."""
        return Closing(status=status)
