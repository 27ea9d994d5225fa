"""May one more request be sent, and when? Caps of one invocation. Rule: evaluation.md §17.6, §17.11.

A cap that is reached stops the run cleanly: nobody begins another request, those under way are let end and go on
record, then the run is refused with what it needs to be gone on with.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from bfcl.errors import EvalError, Problem
from bfcl.evaluate.run.unanswered import Cause, counted
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.modelio.exchange import ChatOutcome

BUDGET_EXHAUSTED: Final = "eval_budget_exhausted"

_GO_ON: Final = "go on in a new output directory with this one as `resume_from`, and with a higher `{name}` or none"
_CAUSES_FIRST: Final = "look at these first, as a higher cap mends none of them; then "


class Meter:
    """Counts what a run sends and gets, for one event loop. A lease stands for one call under way, record included."""

    def __init__(
        self,
        envelope: Envelope,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._max_requests = envelope.max_requests
        self._max_tokens = envelope.max_total_tokens
        self._max_stops = envelope.max_infrastructure_stops
        self._gap_s = 60.0 / envelope.requests_per_minute if envelope.requests_per_minute else 0.0
        self._clock = clock
        self._pause = pause
        self._next = 0.0
        self._leases = 0
        self._blocked = 0
        """Leases whose call waits for the others to end."""
        self._quiet = asyncio.Event()
        self._problem: Problem | None = None
        self.calls = 0
        """Leased calls that were concluded, whatever came of them."""
        self.requests = 0
        """HTTP requests, further attempts among them."""
        self.tokens = 0
        self._causes: Counter[Cause] = Counter()

    async def lease(self) -> float:
        """Wait until a call may be made; seconds that this took. Give it back by `give_back`.

        Raises: EvalError `eval_budget_exhausted` once nothing is under way any more.
        """
        began = self._clock()
        await self._turn()
        if not self._take():
            await self._end()
        self._leases += 1
        return self._clock() - began

    def give_back(self, outcome: ChatOutcome | None) -> None:
        """A leased call is on record, or came to nothing."""
        self._leases -= 1
        if outcome is not None:
            self.calls += 1
            self.tokens += tokens_of(outcome)
        self._look()

    async def retry(self, wait_s: float) -> None:
        """Wait before a leased call is tried again. Raises: as `lease`."""
        await self._pause(wait_s)
        await self._turn()
        if not self._take():
            self._blocked += 1
            try:
                await self._end()
            finally:
                self._blocked -= 1

    @property
    def stops(self) -> int:
        """Episodes that infrastructure ended."""
        return self._causes.total()

    async def stopped_by_infrastructure(self, cause: Cause) -> None:
        """Count an episode, which `cause` stopped. Raises: as `lease` where it was one too many."""
        self._causes[cause] += 1
        if self._max_stops is not None and self.stops >= self._max_stops:
            tasks = "1 task" if self.stops == 1 else f"{self.stops} tasks"
            message = f"{tasks} ended for reasons that are not the candidate's: {counted(self._causes)}"
            self._refuse("max_infrastructure_stops", message, _CAUSES_FIRST)
            await self._end()

    async def _turn(self) -> None:
        """Wait for this request's place in the minute."""
        if self._gap_s:
            now = self._clock()
            place = max(now, self._next)
            self._next = place + self._gap_s
            if place > now:
                await self._pause(place - now)

    def _take(self) -> bool:
        if self._problem is None and self._max_requests is not None and self.requests >= self._max_requests:
            self._refuse("max_requests", f"{self.requests} requests were sent, and {self._max_requests} are allowed")
        if self._problem is None and self._max_tokens is not None and self.tokens >= self._max_tokens:
            self._refuse("max_total_tokens", f"{self.tokens} tokens were used, and {self._max_tokens} are allowed")
        if self._problem is not None:
            return False
        self.requests += 1
        return True

    def _refuse(self, name: str, message: str, first: str = "") -> None:
        """`first` is to be done before the run is gone on with."""
        if self._problem is None:
            fix = first + _GO_ON.format(name=name)
            self._problem = Problem(code=BUDGET_EXHAUSTED, subject=name, field=name, message=message, fix=fix)

    async def _end(self) -> None:
        """Raises: the refusal, once every call under way has ended."""
        self._look()
        await self._quiet.wait()
        assert self._problem is not None
        raise EvalError(self._problem)

    def _look(self) -> None:
        if self._problem is not None and self._leases == self._blocked:
            self._quiet.set()


def tokens_of(outcome: ChatOutcome) -> int:
    """Prompt and completion tokens of a reply, as far as the provider says; never a guess."""
    if outcome.response is None:
        return 0
    parts = [count for count in outcome.response.tokens if count is not None]
    return sum(parts) if parts else outcome.response.total_tokens or 0
