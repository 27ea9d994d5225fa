"""How does another thread do work, when an interrupt may hit the one that waits for it at any instant?

The standard library's threads and pools are waited for through locks that Python code takes. An interrupt between the
taking and its note leaves such a lock taken for ever, and the process never ends. Here all waiting is on locks and
queues of C code, which an interrupt leaves whole.
"""

from __future__ import annotations

import _thread
import errno
import os
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """Work that was handed over; `result` waits for it."""

    def __init__(self, work: Callable[[], T], ended: SimpleQueue[Later[T]] | None = None) -> None:
        self._work = work
        self._told: list[T] = []
        self._error: BaseException | None = None
        self._ended = ended
        self._busy = _thread.allocate_lock()
        self._busy.acquire()

    def do(self) -> None:
        """Do it, in the thread that it was handed to."""
        try:
            self._told.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error
        self._busy.release()
        if self._ended is not None:
            self._ended.put(self)

    def wait(self) -> None:
        """Wait until it is done."""
        with self._busy:
            pass

    def result(self) -> T:
        """What the work returned, or raised, once it is done; may be asked again."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._told[0]


class Crew:
    """`width` threads that do what they are given, in order. The process may end without them."""

    def __init__(self, width: int = 1) -> None:
        """Raises: OSError where the system grants no thread."""
        self._given: SimpleQueue[Later[Any] | None] = SimpleQueue()
        self._gone = [_thread.allocate_lock() for _ in range(width)]
        for gone in self._gone:
            gone.acquire()
            try:
                _thread.start_new_thread(self._serve, (gone,))
            except RuntimeError:
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None

    def begin(self, work: Callable[[], T], ended: SimpleQueue[Later[T]] | None = None) -> Later[T]:
        """Hand work over. `ended` is where it is put once it is done."""
        later = Later(work, ended)
        self._given.put(later)
        return later

    def close(self) -> None:
        """Let the threads end after what they were given, and wait for that. May be called again."""
        for _ in self._gone:
            self._given.put(None)
        for gone in self._gone:
            with gone:
                pass

    def _serve(self, gone: _thread.LockType) -> None:
        try:
            while (later := self._given.get()) is not None:
                later.do()
        finally:
            gone.release()
