"""How do many who wait share one write to the disk? Rule: evaluation.md §11."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from bfcl.modelio.append_log import AppendLog
from bfcl.modelio.log_form import Unit
from bfcl.oracle.aside import Crew, Later

GATHER_S: Final = 0.01
"""How long a write waits for others to join: little to who waits for an answer, and most of what writing costs."""


class GroupCommit:
    """Appends for many who wait, in one event loop: whoever comes while one write is under way shares the next.

    Bringing bytes to the disk takes milliseconds, whatever their number, and no CPU: it happens in a thread. Who is
    cancelled leaves only when what everybody brought is on the disk: nothing may come after that.
    """

    def __init__(self, log: AppendLog[object]) -> None:
        self._log = log
        self._waiting: list[tuple[Unit, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._crew: Crew | None = None
        self._last: Later[None] | None = None
        """The write that was begun last."""

    async def append(self, unit: Unit) -> None:
        """Return when the unit has reached the disk. Raises: as `AppendLog.append`, for all that share the write."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((unit, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        try:
            await done
        except asyncio.CancelledError:
            self._finish()
            if self._last is not None:
                self._last.result()
            raise

    async def _write(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(GATHER_S)
                if self._waiting:
                    await self._next()
        finally:
            self._finish()

    async def _next(self) -> None:
        """Write what waits, and tell those who do."""
        crew, batch = self._begun()
        loop, written = asyncio.get_running_loop(), asyncio.Event()

        def ended() -> None:
            # A loop that was closed meanwhile has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(written.set)

        later = self._last
        # The crew is one thread, which does this next, however the write ended.
        crew.begin(ended)
        await written.wait()
        _tell(batch, later)

    def _begun(self) -> tuple[Crew, list[asyncio.Future[None]]]:
        """Begin to write what waits, behind whatever is being written: by whom, and who waits for it."""
        waiting, self._waiting = self._waiting, []
        units = [unit for unit, _ in waiting]
        if self._crew is None:
            self._crew = Crew()
        self._last = self._crew.begin(lambda: self._log.append(units))
        return self._crew, [done for _, done in waiting]

    def _finish(self) -> None:
        """Come back when everything is written, though the loop may not go on."""
        batch = self._begun()[1] if self._waiting else []
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()
        if batch:
            _tell(batch, self._last)


def _tell(batch: list[asyncio.Future[None]], written: Later[None] | None) -> None:
    """Let those who still wait go on, as their write ended."""
    error = None if written is None else written.error()
    for done in batch:
        if done.done():
            # Whoever waited was cancelled; what it concluded is recorded all the same.
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
