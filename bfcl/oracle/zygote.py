"""How does one world serve episodes? Import the pack once, then fork a process per episode and watch it.

Runs in a fresh interpreter: standard library and time-machine only. The watching costs nothing while all is well: one
wait for the process to end, woken early only when the deadline of the phase it was last seen in comes near.
Rule: rulings 6-7; pack.md §7.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from bfcl.oracle import deadlines, describing, episode, isolation, wire
from bfcl.oracle.exact import NotJson, decode, exact_json
from bfcl.oracle.scratch import CALL, TooLarge

_FLUSH_BYTES = 256 * 1024
_FLUSH_NS = 20_000_000
PARENT_GONE = (signal.SIGTERM, signal.SIGCONT)
"""Signals that tell a world that its parent is gone."""

# Bound before pack code could replace them. What a world does between two forks costs a fault for every page it writes
# to, if only a count of references: few objects in few places.
_fork, _exit, _kill, _killpg, _waitpid = os.fork, os._exit, os.kill, os.killpg, os.waitpid
_unlink, _rmdir, _chmod = os.unlink, os.rmdir, os.chmod
_setpgid, _close, _read, _listdir, _lseek = os.setpgid, os.close, os.read, os.listdir, os.lseek
_poll, _POLLIN, _sleep, _ticks = select.poll, select.POLLIN, time.sleep, time.monotonic_ns
# What `signal.signal` wraps: turning numbers into enum members writes to sixty pages that a fork shares.
_set_handler, _default, _gone = _signal.signal, int(signal.SIG_DFL), tuple(map(int, PARENT_GONE))
_status_code = os.waitstatus_to_exitcode
_pidfd_open: Callable[[int], int] | None = getattr(os, "pidfd_open", None)


class ParentGone(Exception):
    """Nobody wants answers any more."""


class Channel:
    """The world's end of the two pipes."""

    def __init__(self, requests: int, answers: int) -> None:
        self.requests, self.answers = requests, answers
        self._reader = wire.FrameReader()
        self._out = bytearray()
        self._flushed = _ticks()

    def receive(self) -> bytes | None:
        """The next request, after sending what is due; None when the parent closed its end."""
        while True:
            payload = self._reader.next()
            if payload is not None:
                if len(self._out) > _FLUSH_BYTES or _ticks() - self._flushed > _FLUSH_NS:
                    self.flush()
                return payload
            self.flush()
            data = _read(self.requests, 262_144)
            if not data:
                return None
            self._reader.feed(data)

    def send(self, payload: bytes) -> None:
        """Queue one frame."""
        self._out += wire.frame(payload)

    def report(self, **fields: Any) -> None:
        """Send a JSON frame now."""
        self.send(exact_json(fields))
        self.flush()

    def flush(self) -> None:
        if self._out:
            wire.write_all(self.answers, bytes(self._out))
            self._out.clear()
        self._flushed = _ticks()

    def close(self) -> None:
        _close(self.requests)
        _close(self.answers)


class World:
    """The imported pack and the processes forked from it."""

    def __init__(self, channel: Channel, stage: episode.Stage, private: str, children: int | None) -> None:
        """`children` is what `open_children_list` gave before /proc was shut away."""
        self.channel, self.stage, self.private = channel, stage, private
        self.assertions: ModuleType | None = None
        self._scratch, self._limits, self._guard = stage.scratch, stage.limits, stage.guard
        self._count = 0
        self._running: int | None = None
        self._children = children
        self._hung_up = _poll()
        self._hung_up.register(channel.requests, 0)  # only the hang-up of the parent
        self._first_wait_ms = int(min(self._limits.shortest, deadlines.LONGEST_WAIT_S) * 1000) + 1
        """No phase of an episode that has just begun is late before."""

    def leave(self) -> NoReturn:
        """Kill everything below this process and go."""
        self._guard.trusted = True
        if self._running is not None:
            self._kill_episode(self._running)
        self._kill_strays()
        _exit(0)

    def serve(self) -> NoReturn:
        """Answer requests in order until the parent closes its end."""
        try:
            while (payload := self.channel.receive()) is not None:
                begun = _ticks()
                answer = self._answer(payload)
                self.channel.send(wire.timed(_ticks() - begun, answer))
        except (wire.Closed, ParentGone):
            pass
        self.leave()

    def serve_one(self) -> NoReturn:
        """Without fork: this process is the episode, and its parent watches it."""
        payload = self.channel.receive()
        if payload is not None:
            begun = _ticks()
            self._scratch.begin(1)
            self._perform(payload)
            with contextlib.suppress(wire.Closed):
                self.channel.send(wire.timed(_ticks() - begun, self._scratch.answer()[0]))
                self.channel.flush()
        self._guard.trusted = True
        _exit(0)

    def _answer(self, payload: bytes) -> bytes:
        self._count += 1
        self._scratch.begin(self._count)
        guard = self._guard
        guard.trusted = True
        process = _fork()
        if process == 0:
            self._become_episode(payload)
        self._running = process
        breakdown, status = self._watch(process, payload)
        self._running = None
        guard.trusted = False
        try:
            answer, whole = self._scratch.answer()
        except TooLarge:
            answer, whole = b"", False
            breakdown = breakdown or _too_large()
        if whole:
            return answer + self._remember(answer)
        if breakdown is None:
            breakdown = deadlines.crashed(self._scratch, status, decode(payload.decode()))
        return answer + wire.record(wire.BREAKDOWN, exact_json(breakdown))

    def _remember(self, answer: bytes) -> bytes:
        """Let the next episode know what this one found out about its state; the records that tell the parent."""
        with contextlib.suppress(ValueError, KeyError, NotJson):  # nothing is learned of one that cannot be read
            told = wire.last_parts(answer)
            if told is not None:
                return self.stage.recall.take_in(told, self._scratch.lesson())
        return b""

    def _become_episode(self, payload: bytes) -> NoReturn:
        try:
            _setpgid(0, 0)
            isolation.die_with_parent()
            for number in _gone:
                _set_handler(number, _default)
            self.channel.close()
            self._scratch.claim()
            self._guard.trusted = False
            self._perform(payload)
            _exit(0)
        finally:
            _exit(70)  # a fault of ours: the world reports a crash

    def _perform(self, payload: bytes) -> None:
        request = decode(payload.decode())
        try:
            if request["kind"] == "describe":
                describing.describe(self.stage, self.assertions)
            else:
                episode.perform(self.stage, request)
        except TooLarge:
            self._scratch.append(wire.BREAKDOWN, exact_json(_too_large()))
            self._scratch.finish()

    def _watch(self, process: int, payload: bytes) -> tuple[dict[str, Any] | None, int | None]:
        """Wait for the process to end or be late. Returns a breakdown if it was stopped, and its exit status."""
        handle = _exit_handle(process)
        breakdown = status = None
        wait_ms = self._first_wait_ms
        try:
            while not self._ended(process, handle, wait_ms):
                wait_ms = int(self._limits.patience(self._scratch) * 1000) + 1
                if self._limits.is_late(self._scratch):
                    breakdown = deadlines.late(self._scratch, self._limits, decode(payload.decode()))
                    break
            else:
                status = _status_code(_waitpid(process, 0)[1])
        finally:
            if handle is not None:
                _close(handle)
        if breakdown is not None:
            self._kill_episode(process)
        self._kill_strays()
        if _listdir(self.private):
            empty(self.private)
        return breakdown, status

    def _ended(self, process: int, handle: int | None, wait_ms: int) -> bool:
        """Whether the process ended within the time. Raises ParentGone."""
        poll = self._hung_up
        if handle is not None:
            poll.register(handle, _POLLIN)
            ready = poll.poll(wait_ms)
            poll.unregister(handle)
            if any(descriptor == self.channel.requests for descriptor, _ in ready):
                raise ParentGone
            return bool(ready)
        pause_ms = 0.2
        while not _has_ended(process):
            if poll.poll(0):
                raise ParentGone
            if wait_ms <= 0:
                return False
            _sleep(pause_ms / 1000)
            wait_ms -= max(1, int(pause_ms))
            pause_ms = min(pause_ms * 2, 10)
        return True

    def _kill_episode(self, process: int) -> None:
        for stop in (_killpg, _kill):  # the pack may have left its group
            with contextlib.suppress(ProcessLookupError, PermissionError):
                stop(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            _waitpid(process, 0)

    def _kill_strays(self) -> None:
        """Kill and reap whatever an episode left behind: as its adopted children, they are found here."""
        if self._children is not None and not self._strays():
            return
        while True:
            try:
                process, _ = _waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                strays = self._strays()
                if not strays:
                    return
                for stray in strays:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        _kill(stray, signal.SIGKILL)
                _sleep(0.0005)

    def _strays(self) -> list[int]:
        if self._children is None:
            return []
        _lseek(self._children, 0, os.SEEK_SET)
        return [int(text) for text in _read(self._children, 65_536).split()]


def open_children_list() -> int | None:
    """A descriptor of this process's list of children, opened while /proc can still be read."""
    try:
        return os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _exit_handle(process: int) -> int | None:
    """A descriptor that turns readable when the process ends, where the kernel has such."""
    if _pidfd_open is None:
        return None
    try:
        return _pidfd_open(process)
    except OSError:
        return None


def _has_ended(process: int) -> bool:
    """Whether the process is a zombie, leaving it so."""
    try:
        return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _too_large() -> dict[str, Any]:
    return deadlines.breakdown("worker_message_too_large", f"the answer grew past {wire.MESSAGE_LIMIT} bytes", CALL)


def empty(directory: str) -> None:
    """Remove everything in the private directory: an episode always begins in an empty one."""
    for name in _listdir(directory):
        path = f"{directory}/{name}"
        with contextlib.suppress(OSError):
            _unlink(path)
            continue
        with contextlib.suppress(OSError):
            _chmod(path, 0o700)
            empty(path)
            _rmdir(path)
