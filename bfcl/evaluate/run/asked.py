"""Who concludes the calls of one episode, and what is kept of them beside the record? Rule: evaluation.md §5, §11."""

from __future__ import annotations

import time
from typing import Final, Protocol

from bfcl.evaluate.run.meter import Meter
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.modelio.chat_cached import CachedChat
from bfcl.modelio.chat_live import Completing
from bfcl.modelio.exchange import ChatOutcome, ChatRequest

_FOREVER: Final = float("inf")


class Finding(Protocol):
    """Records of other runs."""

    def find(self, request: ChatRequest) -> ChatOutcome | None:
        """How a call ended, None where none of them vouches for it."""
        ...


class NotRecorded(Exception):
    """A concluded run has no record of a call: its episode ended before it was made."""


class Nobody:
    """Stands where nobody may be asked."""

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:  # noqa: ARG002 the protocol has it
        """Raises: NotRecorded."""
        raise NotRecorded(request.request_id)


class EpisodeChat:
    """The client of one episode. Waiting for a place in the minute is not on the episode's time."""

    def __init__(
        self,
        live: Completing,
        meter: Meter,
        *,
        cache: CandidateCache | None,
        imported: Finding | None,
        ends_after: int | None = None,
    ) -> None:
        """`ends_after`: the episode's time is up after so many calls, as it was when they were recorded."""
        self._leased = _Leased(live, meter)
        asking: Completing = self._leased if imported is None else _Recalled(imported, self._leased)
        self._chat = asking if cache is None else CachedChat(cache, asking)
        self._ends_after = ends_after
        self.outcomes: list[ChatOutcome] = []

    def clock(self) -> float:
        """Seconds for the deadlines of this episode."""
        if self._ends_after is not None:
            return _FOREVER if len(self.outcomes) >= self._ends_after else 0.0
        return time.monotonic() - self._leased.waited_s

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        """See `Completing.complete`; `deadline` is a moment of `clock`."""
        outcome = None
        try:
            outcome = await self._chat.complete(request, deadline)
        finally:
            self._leased.give_back(outcome)
        self.outcomes.append(outcome)
        return outcome


class _Recalled:
    """Asks for what other runs do not answer."""

    def __init__(self, imported: Finding, live: Completing) -> None:
        self._imported = imported
        self._live = live

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        found = self._imported.find(request)
        return await self._live.complete(request, deadline) if found is None else found


class _Leased:
    """Asks once a call may be made."""

    def __init__(self, live: Completing, meter: Meter) -> None:
        self._live = live
        self._meter = meter
        self._held = False
        self.waited_s = 0.0

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        if not isinstance(self._live, Nobody):
            self.waited_s += await self._meter.lease()
            self._held = True
        return await self._live.complete(request, deadline + self.waited_s)

    def give_back(self, outcome: ChatOutcome | None) -> None:
        if self._held:
            self._held = False
            self._meter.give_back(outcome)
