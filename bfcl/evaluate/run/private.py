"""How are private tasks asked within a run: by its client, on its meter, under its watch? Rule: evaluation.md §2.

Nothing of them is put on record, and progress tells of public tasks alone. How many the run stopped is counted.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import get_args

from bfcl.evaluate.held_out.playing import Ended, Part
from bfcl.evaluate.records import attribution
from bfcl.evaluate.run.asked import EpisodeChat
from bfcl.evaluate.run.clients import live_chat, oracle_jobs
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.stopped import Stopped
from bfcl.evaluate.run.unanswered import Cause, stop_cause
from bfcl.evaluate.run.watching import Watching
from bfcl.evaluate.settings.model import Candidate, EvalSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateHost:
    """The run around private tasks."""

    settings: EvalSettings
    watching: Watching
    meter: Meter
    how: How
    _tasks: Counter[tuple[str, Part]] = field(default_factory=Counter, init=False, repr=False)
    """How many were played, by alias and part."""
    _causes: defaultdict[tuple[str, Part], Counter[Cause]] = field(
        default_factory=lambda: defaultdict(Counter), init=False, repr=False
    )
    """What stopped those that the run stopped, and how many each."""

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

    async def after_task(self, ended: Ended) -> None:
        """Raises: as `Meter.stopped_by_infrastructure`."""
        self._tasks[ended.alias, ended.part] += 1
        cause = stop_cause(ended.score, ended.last)
        if ended.score.non_candidate_stop:
            self._causes[ended.alias, ended.part][cause] += 1
        if attribution(ended.score.episode_status) == "infrastructure":
            await self.meter.stopped_by_infrastructure(cause)

    def stopped(self) -> Iterator[Stopped]:
        """Tasks played here that the run stopped, candidate after candidate, public ones first."""
        for candidate in self.settings.candidates:
            for part in get_args(Part):
                causes = self._causes[candidate.alias, part]
                if causes:
                    yield Stopped(
                        alias=candidate.alias,
                        part=part,
                        tasks=self._tasks[candidate.alias, part],
                        stops=causes.total(),
                        causes=causes,
                        endpoint=candidate.base_url,
                        model=candidate.model,
                        answered=False,
                    )
