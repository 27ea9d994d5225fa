"""How do many who wait share one write to the disk? Rule: evaluation.md §11."""

from __future__ import annotations

import asyncio
from typing import Final

from bfcl.modelio.append_log import AppendLog
from bfcl.modelio.log_form import Unit

GATHER_S: Final = 0.01
"""How long a write waits for others to join: little to who waits for an answer, and most of what writing costs."""


class GroupCommit:
    """Appends for many who wait, in one event loop: whoever comes while one write is under way shares the next.

    Bringing bytes to the disk takes milliseconds, whatever their number, and no CPU: it happens in a thread.
    """

    def __init__(self, log: AppendLog[object]) -> None:
        self._log = log
        self._waiting: list[tuple[Unit, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def append(self, unit: Unit) -> None:
        """Return when the unit has reached the disk. Raises: as `AppendLog.append`, for all that share the write."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((unit, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await done

    async def _write(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHER_S)
            batch, self._waiting = self._waiting, []
            units = [unit for unit, _ in batch]
            written = asyncio.get_running_loop().run_in_executor(None, self._log.append, units)
            await asyncio.wait([written])
            error = written.exception()
            for _, done in batch:
                if done.done():
                    # Whoever waited was cancelled; what it concluded is recorded all the same.
                    continue
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)
