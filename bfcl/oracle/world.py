"""How does the parent hold one world: start it, feed it, hear it, end it? Rule: pack.md §7.

A world reports `{"started": level}`, then `{"imported": module, "breakdown": ...}` per module, then `{"ready": true}`;
from then on every frame answers the oldest open request. The parent waits on each step with a deadline of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bfcl.canonical import canonical_json
from bfcl.files import storage
from bfcl.oracle import deadlines, scratch, wire
from bfcl.oracle.ambience import Ambience
from bfcl.oracle.aside import Crew
from bfcl.oracle.deadlines import Limits
from bfcl.oracle.known_states import KnownStates
from bfcl.oracle.protocol import TIMEOUTS, OracleSpec

_CHILD = str(Path(__file__).with_name("child.py"))
_START_S = 60.0
"""For a fresh interpreter to come up on a busy machine, before any pack code."""
_LEAVE_S = 0.5
_PIPE_BYTES = 1024 * 1024
_F_SETPIPE_SZ = 1031


def limits_of(spec: OracleSpec) -> dict[str, float]:
    """Seconds per phase, as worlds want them."""
    return {name.removesuffix("_timeout_s"): getattr(spec, name) for name in TIMEOUTS}


class World:
    """One world process. `open` holds the numbers of unanswered requests, oldest first."""

    def __init__(self, spec: OracleSpec, ambience: Ambience, directory: Path, *, fork: bool, grace_s: float) -> None:
        self.name = ambience.name
        self.open: deque[int] = deque()
        self.took_ns: dict[int, int] = {}
        """Request number to what answering it took; whoever reads the answers takes them out."""
        self.imports: dict[str, dict[str, Any] | None] = {}
        self.level: dict[str, Any] | None = None
        self.ready = False
        self.forks = fork
        self._spec, self._ambience, self._grace_s = spec, ambience, grace_s
        self._limits = Limits(limits_of(spec))
        with storage(directory):
            self._home = Path(tempfile.mkdtemp(prefix=ambience.directory_prefix, dir=directory))
            self._private = self._home / "private"
            self._private.mkdir()
        self._out = bytearray()
        self._reader = wire.FrameReader()
        self.answered = 0
        self._deadline = time.monotonic() + _START_S
        self._seen_episode = 0
        self._begun = False
        self._known = KnownStates()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, skip: Mapping[str, str], keeper: Crew) -> None:
        """Spawn the interpreter, from the keeper's thread: the world dies with the thread that started it.

        Raises OSError where the system grants no process, memory, descriptor or room.
        """
        descriptor = _shared_memory(self._home)
        try:
            self.scratch = scratch.Scratch(descriptor)
            self._begun = True
            with (self._home / "start.txt").open("wb") as errors:
                number = errors.fileno()
                keeper.begin(lambda: self._spawn(descriptor, number)).result()
        finally:
            os.close(descriptor)
        for pipe in (self.input, self.output):
            os.set_blocking(pipe, False)
            _widen(pipe)
        self._out += wire.frame(canonical_json(self._order(skip, descriptor)))
        self.write()

    def _spawn(self, descriptor: int, errors: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-B", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            env=self._ambience.environment(str(self._private)),
            cwd=self._private,
            start_new_session=True,
            close_fds=True,
            pass_fds=(descriptor,),
        )

    def _order(self, skip: Mapping[str, str], descriptor: int) -> dict[str, Any]:
        spec, ambience = self._spec, self._ambience
        return {
            "parent": os.getpid(),
            "view": spec.view,
            "backend": spec.backend,
            "assertions": spec.assertions,
            "fixtures": spec.fixtures,
            "clock": spec.clock,
            "limits": limits_of(spec),
            "private": str(self._private),
            "scratch": descriptor,
            "skip": dict(skip),
            "fork": self.forks,
            "timestamp": ambience.timestamp,
            "tick_shift_s": ambience.tick_shift_s,
            "host_name": ambience.host_name,
        }

    @property
    def saw_pages(self) -> bool:
        """Whether pack code in it looked at a page for people; also once it is gone."""
        return self._begun and self.scratch.saw_pages()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def output(self) -> int:
        """The descriptor its answers come from."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    @property
    def input(self) -> int:
        """The descriptor its requests go to."""
        assert self.process.stdin is not None
        return self.process.stdin.fileno()

    # --- requests and answers ---------------------------------------------------------------------------------------

    @property
    def wants_to_write(self) -> bool:
        return bool(self._out)

    def ask(self, number: int, request: bytes) -> None:
        """Queue a request for the next `write`; its answer will carry `number`."""
        if not self.open:
            self._touch()
        self.open.append(number)
        self._out += wire.frame(request)

    def write(self) -> None:
        """Hand the pipe what it takes. A world that is gone shows when it is read."""
        with suppress(BlockingIOError, BrokenPipeError, ConnectionError):
            while self._out:
                sent = os.write(self.input, memoryview(self._out)[:_PIPE_BYTES])
                del self._out[:sent]

    def read(self) -> tuple[list[tuple[int, wire.Answer]], bool]:
        """`(request number, answer)` of what has come, and whether the world is gone; `took_ns` has the times."""
        gone = False
        with suppress(BlockingIOError):
            while True:
                data = os.read(self.output, _PIPE_BYTES)
                if not data:
                    gone = True
                    break
                self._reader.feed(data)
        answers = []
        while (payload := self._reader.next()) is not None:
            if self.ready:
                number = self.open.popleft()
                self.took_ns[number], answer = wire.untimed(payload)
                answers.append((number, self._known.spelled(answer)))
                self.answered += 1
                self._touch()
            else:
                self._hear(json.loads(payload))
        return answers, gone

    def _hear(self, report: Mapping[str, Any]) -> None:
        if "started" in report:
            self.level = dict(report["started"])
            self._deadline = time.monotonic() + self._spec.import_timeout_s
        elif "imported" in report:
            self.imports[report["imported"]] = report["breakdown"]
            self._deadline = time.monotonic() + self._spec.import_timeout_s
        else:
            self.ready = True
            self._touch()

    # --- deadlines --------------------------------------------------------------------------------------------------

    def _touch(self) -> None:
        """Something came: whatever runs now has its full time, and the world some to tell."""
        self._deadline = time.monotonic() + self._spec.episode_timeout_s + self._grace_s

    def remaining(self) -> float | None:
        """Seconds until somebody must look, an hour at most; None while nothing is asked of the world."""
        if self.ready and not self.open:
            return None
        left = self._deadline - time.monotonic()
        if self.ready and not self.forks:
            begun = self.scratch.episode()
            left = min(left, self._limits.patience(self.scratch) if begun else self._limits.shortest)
        return max(0.0, min(left, deadlines.LONGEST_WAIT_S))

    def is_stuck(self) -> bool:
        """Whether the time is up for good: an episode that has moved on since gives it another turn."""
        if self.ready and not self.forks and self.open and self.scratch.episode():
            return self._limits.is_late(self.scratch)
        if self._deadline > time.monotonic() or (self.ready and not self.open):
            return False
        if self.ready and self.scratch.episode() != self._seen_episode:
            self._seen_episode = self.scratch.episode()
            self._touch()
            return False
        return True

    def culprit(
        self, request: Callable[[int], bytes], *, stuck: bool, status: int | None
    ) -> tuple[int, wire.Answer] | None:
        """`(number, answer)` of the request that took the world down, no longer open; None where none did.

        Requests that had ended but were not yet told stay open, to be asked elsewhere. A world that dies idle is
        nobody's fault, unless it never answered anything: then the first is blamed, so that going on gets further.
        """
        position = self.scratch.episode() - self.answered - 1
        known = 0 <= position < len(self.open)
        if not self.open or not (known or self.answered == 0):
            return None
        number = self.open[position if known else 0]
        del self.open[position if known else 0]
        asked = json.loads(request(number))
        if stuck and not self.forks:
            breakdown = deadlines.late(self.scratch, self._limits, asked)
        else:
            breakdown = deadlines.crashed(self.scratch, status, asked)
        finished: wire.Answer = ()
        if known:
            with suppress(scratch.TooLarge):
                finished = self._known.spelled(self.scratch.answer()[0])
        return number, (*finished, (wire.BREAKDOWN, canonical_json(breakdown)))

    # --- the end ----------------------------------------------------------------------------------------------------

    def start_errors(self) -> str:
        """The end of what the interpreter said before pack code ran."""
        with suppress(OSError):
            return (self._home / "start.txt").read_text(errors="replace")[-2000:].strip()
        return ""

    def kill(self) -> None:
        """From another thread: end it and everything below it; whoever waits for its answers sees them end."""
        process = self._process
        if process is not None:
            for stray in _descendants(process.pid):
                _kill(os.kill, stray)
            _kill(os.killpg, process.pid)

    def end(self, *, patient: bool = True) -> int | None:
        """End the world and everything below it. Returns its exit status; a second call does nothing.

        A patient end lets the world leave by itself: it knows the processes that left its group. The scratch memory
        stays readable.
        """
        if self._process is None:
            return None
        process, self._process = self._process, None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        if not _wait(process.pid, _LEAVE_S if patient else 0.0):
            for stray in _descendants(process.pid):
                _kill(os.kill, stray)
        _kill(os.killpg, process.pid)
        status = process.wait()
        process.stdout.close()
        return status


def _wait(process: int, seconds: float) -> bool:
    """Whether the process ended in time, leaving it to be reaped so that its number stays its own."""
    end, pause = time.monotonic() + seconds, 0.0002
    while True:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.01)


def _kill(call: Any, process: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        call(process, signal.SIGKILL)


def _descendants(root: int) -> list[int]:
    """Processes below one, from /proc; none where there is no such thing."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The command in parentheses may hold anything: fields are counted from its end.
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {root})


def _shared_memory(home: Path) -> int:
    """A descriptor of zeroed memory to map on both sides; it has no name that pack code could open."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("bfcl-scratch")
    else:
        descriptor, path = tempfile.mkstemp(dir=home)
        Path(path).unlink()
    try:
        os.ftruncate(descriptor, scratch.SIZE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _widen(descriptor: int) -> None:
    """A larger pipe keeps requests queued, so a world does not wait for the parent. Linux only, and optional."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(descriptor, _F_SETPIPE_SZ, _PIPE_BYTES)
