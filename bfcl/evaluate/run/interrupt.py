"""How does a run end by a signal without losing what it paid for? Rule: spec README, ruling 11."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine, Iterator
from typing import Final, TypeVar

Result = TypeVar("Result")

_POLITE: Final = ("SIGTERM", "SIGHUP")


def run_to_end(work: Coroutine[None, None, Result]) -> Result:
    """Run a coroutine in an event loop of its own; Ctrl-C and polite signals cancel it, and it cleans up after itself.

    Raises: KeyboardInterrupt where one did.
    """
    told: list[Result] = []
    with asyncio.Runner() as runner, _polite(runner.get_loop()) as signalled:
        try:
            runner.run(_named(work, signalled, told))
        except asyncio.CancelledError:
            if signalled.came:
                raise KeyboardInterrupt from None
            raise
    return told[0]


class _Signalled:
    """Whether a signal came, and which task it cancels."""

    def __init__(self) -> None:
        self.came = False
        self.task: asyncio.Task[object] | None = None

    def stop(self) -> None:
        self.came = True
        if self.task is not None:
            self.task.cancel()


async def _named(work: Coroutine[None, None, Result], signalled: _Signalled, told: list[Result]) -> None:
    signalled.task = asyncio.current_task()
    # Not returned: the runner asks what handles Ctrl-C, and the library spells that out, down to the task's result.
    told.append(await work)


@contextlib.contextmanager
def _polite(loop: asyncio.AbstractEventLoop) -> Iterator[_Signalled]:
    """Polite signals go to the loop, which `asyncio.Runner` arranges for Ctrl-C alone."""
    signalled = _Signalled()
    if threading.current_thread() is not threading.main_thread():
        yield signalled
        return
    before = {number: signal.getsignal(number) for name in _POLITE if (number := getattr(signal, name, None))}
    caught = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in caught:
        loop.add_signal_handler(number, signalled.stop)
    try:
        yield signalled
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
