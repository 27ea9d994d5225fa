"""How are private tasks asked within a run: by its client, on its meter, under its watch? Rule: evaluation.md §2.

Nothing of them is put on record, and progress tells of public tasks alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from bfcl.evaluate.records import EpisodeStatus, attribution
from bfcl.evaluate.run.asked import EpisodeChat
from bfcl.evaluate.run.clients import live_chat, oracle_jobs
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.watching import Watching
from bfcl.evaluate.settings.model import Candidate, EvalSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateHost:
    """The run around private tasks."""

    settings: EvalSettings
    watching: Watching
    meter: Meter
    how: How

    @property
    def jobs(self) -> int:
        """Worker processes of the oracle."""
        return oracle_jobs(self.settings)

    @contextlib.asynccontextmanager
    async def asking(self, candidate: Candidate) -> AsyncIterator[Callable[[], EpisodeChat]]:
        """Makes a client for each episode, one that keeps nothing."""
        async with live_chat(candidate, self.settings.limits, self.meter, self.how) as live:
            yield lambda: EpisodeChat(live, self.meter, cache=None, imported=None)

    async def before_task(self) -> None:
        """Raises: as `Watching.before_task`."""
        await self.watching.before_task()

    async def after_task(self, status: EpisodeStatus) -> None:
        """Raises: as `Meter.stopped_by_infrastructure`."""
        if attribution(status) == "infrastructure":
            await self.meter.stopped_by_infrastructure(status)
