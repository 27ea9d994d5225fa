"""How does another thread do work, when an interrupt may hit the one that waits for it at any instant?

The standard library's threads and pools are waited for through locks that Python code takes. An interrupt between the
taking and its note leaves such a lock taken for ever, and the process never ends. Here all waiting is on locks and
queues of C code, which an interrupt leaves whole.

They are waited for a moment at a time. A signal that comes just before a wait begins, while the thread waits for its
turn to run Python, is noted but wakes nobody: without an end of its own the wait would outlast it.
"""

from __future__ import annotations

import _thread
import errno
import os
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

MOMENT_S: Final = 0.1
"""The longest that an interrupt which came before a wait stays unnoticed by it."""


def taken(queue: SimpleQueue[T]) -> T:
    """The next item, once there is one."""
    while True:
        try:
            return queue.get(timeout=MOMENT_S)
        except Empty:
            continue


class _Gate:
    """Shut until something is over. An interrupt may leave the lock taken: others wait a moment then, not for ever."""

    def __init__(self) -> None:
        self._over = False
        self._shut = _thread.allocate_lock()
        self._shut.acquire()

    def open(self) -> None:
        """Let everybody through who waits, or comes later. To be called once."""
        self._over = True
        self._shut.release()

    def wait(self) -> None:
        """Wait until it is open."""
        while not self._over:
            if self._shut.acquire(timeout=MOMENT_S):
                self._shut.release()


class Later(Generic[T]):
    """Work that was handed over; `result` waits for it."""

    def __init__(self, work: Callable[[], T], ended: SimpleQueue[Later[T]] | None = None) -> None:
        self._work = work
        self._told: list[T] = []
        self._error: BaseException | None = None
        self._ended = ended
        self._done = _Gate()

    def do(self) -> None:
        """Do it, in the thread that it was handed to."""
        try:
            self._told.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error
        self._done.open()
        if self._ended is not None:
            self._ended.put(self)

    def wait(self) -> None:
        """Wait until it is done."""
        self._done.wait()

    def error(self) -> BaseException | None:
        """What the work raised, once it is done; may be asked again."""
        self.wait()
        return self._error

    def result(self) -> T:
        """What the work returned, or raised, once it is done; may be asked again."""
        error = self.error()
        if error is not None:
            raise error
        return self._told[0]


class Crew:
    """`width` threads that do what they are given, in order. The process may end without them."""

    def __init__(self, width: int = 1) -> None:
        """Raises: OSError where the system grants no thread."""
        self._given: SimpleQueue[Later[Any] | None] = SimpleQueue()
        self._gone = [_Gate() for _ in range(width)]
        for gone in self._gone:
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
            gone.wait()

    def _serve(self, gone: _Gate) -> None:
        try:
            while (later := self._given.get()) is not None:
                later.do()
        finally:
            gone.open()
