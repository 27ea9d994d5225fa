"""When is the source checked again while candidates are asked? Rule: evaluation.md §3, gate 16.

Before the first request and before any result counts; in executable runs also as tasks begin. Hashing happens aside, so
that candidates are listened to meanwhile.
"""

from __future__ import annotations

import asyncio

from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.source.recheck import Watch


class Watching:
    """One watch for all tasks in flight."""

    def __init__(self, prepared: Prepared) -> None:
        self._watch = Watch(prepared.settings, prepared.verified, prepared.plan)
        self._per_task = prepared.settings.executable
        self._one_at_a_time = asyncio.Lock()

    async def settle(self) -> None:
        """Check now. Raises: as `recheck`."""
        async with self._one_at_a_time:
            await asyncio.to_thread(self._watch.settle)

    async def before_task(self) -> None:
        """Check if it is due. Raises: as `recheck`."""
        if self._per_task:
            async with self._one_at_a_time:
                # Handing nothing over to a thread takes longer than looking.
                if self._watch.begin_task():
                    await asyncio.to_thread(self._watch.settle)
