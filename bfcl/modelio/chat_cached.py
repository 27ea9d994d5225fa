"""Who answers from what is recorded, and records what had to be asked? Rule: evaluation.md §11."""

from __future__ import annotations

from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.modelio.chat_live import Completing
from bfcl.modelio.exchange import ChatOutcome, ChatRequest


class CachedChat:
    """Concludes each call once: from this directory's record, else by asking."""

    def __init__(self, cache: CandidateCache, live: Completing) -> None:
        self._cache = cache
        self._live = live

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        """See `Completing.complete`; on return the call is on record. One that is cancelled before leaves none.

        Raises: EvalError and StageError as `CandidateCache.put` and the one that asks.
        """
        recorded = self._cache.find(request)
        if recorded is not None:
            return recorded
        outcome = await self._live.complete(request, deadline)
        await self._cache.put(request, outcome)
        return outcome
