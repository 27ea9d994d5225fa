"""Which world answers which request, and what happens to the rest when a world breaks?"""

from __future__ import annotations

import os
import select
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bfcl.errors import OracleError, Problem
from bfcl.files import storage, temporary_directory
from bfcl.oracle import answers, deadlines, wire
from bfcl.oracle.ambience import ambiences
from bfcl.oracle.aside import MOMENT_S, Crew
from bfcl.oracle.packcode import MODULES
from bfcl.oracle.places import naming, twin
from bfcl.oracle.protocol import OracleSpec
from bfcl.oracle.scratch import CALL, IMPORT
from bfcl.oracle.world import World

_WINDOW = 64
"""Open requests per world: enough that it never waits for the parent, few enough that worlds share the work."""


class Lane:
    """The requests one kind of world has to answer. World B takes them in opposite order."""

    def __init__(self, name: str, requests: Sequence[bytes], worlds: int) -> None:
        self.name, self.requests = name, requests
        self.queue = deque(range(len(requests)) if name == "a" else reversed(range(len(requests))))
        self.answers: dict[int, wire.Answer] = {}
        self.took_ns: dict[int, int] = {}
        self._window = max(1, min(_WINDOW, -(-len(requests) // worlds)))

    @property
    def unanswered(self) -> int:
        return len(self.requests) - len(self.answers)

    def feed(self, world: World) -> None:
        """Give a world its next requests, when half of those it had are answered."""
        window = self._window if world.forks else 0 if world.answered else 1
        if len(world.open) * 2 > window:
            return
        while self.queue and len(world.open) < window:
            number = self.queue.popleft()
            request = self.requests[number]
            if len(request) > wire.MESSAGE_LIMIT:
                self.answers[number] = _request_too_large(len(request))
            else:
                world.ask(number, request)
        world.write()

    def take(self, told: Iterable[tuple[int, wire.Answer]]) -> None:
        self.answers.update(told)

    def refuse_all(self, breakdown: Mapping[str, Any]) -> None:
        """No world of this lane can run anything: the same breakdown answers what is left."""
        answer = answers.breakdown_answer(breakdown)
        self.answers = {number: self.answers.get(number, answer) for number in range(len(self.requests))}

    def recover(self, world: World, *, stuck: bool, status: int | None) -> None:
        """Answer for the request that took a world down, and take back the others."""
        blamed = world.culprit(self.requests.__getitem__, stuck=stuck, status=status)
        if blamed is not None:
            self.take([blamed])
        self.queue.extendleft(reversed(world.open))


class Pool:
    """The running worlds of one pack. Not for several threads at a time: `LocalOracle` sees to that."""

    def __init__(self, spec: OracleSpec, *, pairs: int, fork: bool, grace_s: float) -> None:
        self._spec, self._pairs, self._fork, self._grace_s = spec, pairs, fork, grace_s
        self._ambiences = ambiences(spec.clock)
        self._worlds: dict[str, list[World]] = {name: [] for name in self._ambiences}
        self.imports: dict[str, dict[str, dict[str, Any] | None]] = {name: {} for name in self._ambiences}
        """Lane to module to what its import came to; a module not there has not been tried."""
        self._fatal: dict[str, dict[str, str]] = {name: {} for name in self._ambiences}
        """Modules that took a world down while they were imported: not tried again."""
        self.level: dict[str, Any] | None = None
        self._stopped = False
        self._saw_pages = False
        self.took_ns: dict[str, list[int]] = {}
        """Lane to what each request of the last `serve` took; 0 where no world answered it."""
        self._words: dict[str, Callable[[str], str]] = {}
        self._specs: dict[str, OracleSpec] = {}
        """Lane to the places its worlds import from, while there is a directory for them."""
        self._keeper: Crew | None = None
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def start_ahead(self, names: Iterable[str]) -> None:
        """Start a world of each of these lanes without waiting for it. Raises OracleError as `serve` does."""
        try:
            for name in names:
                if not self._worlds[name]:
                    self._start(name)
        except BaseException:
            self.close()  # one that could not be started must not be asked
            raise

    def serve(self, requests: Mapping[str, Sequence[bytes]], *, needs_backend: bool) -> dict[str, list[wire.Answer]]:
        """Answers per lane, in the order of its requests.

        Raises OracleError if no interpreter comes up, or if the backend is needed and does not import in world A.
        """
        lanes = [Lane(name, asked, self._pairs) for name, asked in requests.items()]
        try:
            while open_lanes := [lane for lane in lanes if lane.unanswered]:
                if self._stopped:
                    raise OracleError(Problem(code="oracle_stopped", message="the run was interrupted"))
                self._turn(open_lanes, needs_backend=needs_backend)
        except BaseException:
            self.close()  # an interrupt may come anywhere: no world is worth keeping
            raise
        self.took_ns = {
            lane.name: [lane.took_ns.get(number, 0) for number in range(len(lane.requests))] for lane in lanes
        }
        return {lane.name: [lane.answers[number] for number in range(len(lane.requests))] for lane in lanes}

    @property
    def saw_pages(self) -> bool:
        """Whether pack code of any world so far looked at a page for people."""
        running = (world for worlds in self._worlds.values() for world in worlds)
        return self._saw_pages or any(world.saw_pages for world in running)

    def naming(self, name: str) -> Callable[[str], str]:
        """What puts words for places into the answers of a lane that was just served."""
        if self._directory is None or name not in self._specs:
            return str
        if name not in self._words:
            self._words[name] = naming(self._specs[name], self._ambiences[name], self._home(self._directory))
        return self._words[name]

    def stop(self) -> None:
        """From another thread: let whoever waits for worlds return at once, by killing them, and start no more."""
        self._stopped = True
        for worlds in list(self._worlds.values()):
            for world in list(worlds):
                world.kill()

    def close(self) -> None:
        """End every world and remove every temporary directory. May be called again."""
        everyone = [world for worlds in self._worlds.values() for world in worlds]
        for world in everyone:
            world.end()
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        for world in everyone:
            world.end()  # one that an interrupt caught while it was being started
        self._saw_pages = self.saw_pages
        self._specs.clear()
        for worlds in self._worlds.values():
            worlds.clear()
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None
            self._words.clear()

    def _turn(self, lanes: Sequence[Lane], *, needs_backend: bool) -> None:
        """Feed the worlds, wait until something happens, and take it in."""
        poll, engaged = select.poll(), []
        for lane in lanes:
            for world in self._staff(lane):
                if world.ready:
                    if needs_backend and not self._can_run(lane):
                        return
                    lane.feed(world)
                poll.register(world.output, select.POLLIN)
                if world.wants_to_write:
                    poll.register(world.input, select.POLLOUT)
                engaged.append((lane, world))
        waits = [wait for _, world in engaged if (wait := world.remaining()) is not None]
        events = dict(poll.poll(int(min([*waits, MOMENT_S]) * 1000) + 1))
        for lane, world in engaged:
            if world.wants_to_write:
                world.write()
            if world.output in events:
                self._listen(lane, world)
            elif world.is_stuck():
                self._lose(lane, world, stuck=True)

    def _listen(self, lane: Lane, world: World) -> None:
        told, gone = world.read()
        lane.take(told)
        lane.took_ns.update(world.took_ns)
        world.took_ns.clear()
        words = self.naming(lane.name)
        for module, broken in world.imports.items():
            self.imports[lane.name][module] = broken and {**broken, "message": words(broken["message"])}
        self.level = world.level or self.level
        if gone:
            self._lose(lane, world, stuck=False)

    def _staff(self, lane: Lane) -> list[World]:
        """The lane's worlds, started up to the number of pairs; no more than there are requests."""
        worlds = self._worlds[lane.name]
        wanted = min(self._pairs, lane.unanswered)
        while len(worlds) < wanted:
            self._start(lane.name)
        return [world for place, world in enumerate(worlds) if place < wanted or world.open]

    def _start(self, name: str) -> None:
        if self._directory is None:
            sweep_abandoned()
            self._directory = temporary_directory("worlds")
        home = self._home(self._directory)
        world = World(self._spec_of(name, home), self._ambiences[name], home, fork=self._fork, grace_s=self._grace_s)
        self._worlds[name].append(world)
        try:
            if self._keeper is None:
                self._keeper = Crew()
            world.start(self._fatal[name], self._keeper)
        except OSError as error:
            raise OracleError(
                Problem(
                    code="worker_start_failed",
                    message=f"no process could be set up for the pack: {error.strerror or error}",
                    fix="let the command have more open files, processes, threads, memory or room for temporary files "
                    "(see `ulimit -a`), then run it again",
                )
            ) from error

    @staticmethod
    def _home(directory: tempfile.TemporaryDirectory[str]) -> Path:
        # Worlds compare paths as the kernel tells them.
        return Path(directory.name).resolve()

    def _spec_of(self, name: str, home: Path) -> OracleSpec:
        """Where the worlds of a lane import from: the view, or a copy made for the first of them."""
        copied = self._ambiences[name].view_name
        if name not in self._specs:
            with storage(home):
                self._specs[name] = self._spec if copied is None else twin(self._spec, home, copied)
        return self._specs[name]

    def _lose(self, lane: Lane, world: World, *, stuck: bool) -> None:
        """A world is gone, or has to go: settle who did it, and leave the rest to the next world."""
        self._worlds[lane.name].remove(world)
        status = world.end(patient=not stuck)
        self._saw_pages = self._saw_pages or world.saw_pages
        if world.ready:
            lane.recover(world, stuck=stuck, status=None if stuck else status)
        elif world.level is None:
            raise OracleError(
                Problem(
                    code="worker_start_failed",
                    message=f"the worker's interpreter {deadlines.ending(None if stuck else status)} before it could "
                    f"import the pack: {world.start_errors() or 'it said nothing'}",
                    fix="run the command with the interpreter of an environment where bfcl is installed whole",
                )
            )
        else:
            self._blame_import(lane, world, stuck=stuck, status=status)

    def _blame_import(self, lane: Lane, world: World, *, stuck: bool, status: int | None) -> None:
        tried = [name for name in MODULES if name not in self._fatal[lane.name]]
        module = next((name for name in tried if name not in world.imports), tried[-1])
        if stuck:
            message = f"importing {module} did not end within {self._spec.import_timeout_s:g} s"
            told = deadlines.breakdown("import_timeout", message, IMPORT)
        else:
            message = f"the process {deadlines.ending(status)} while importing {module}"
            told = deadlines.breakdown("worker_crashed", message, IMPORT)
        self.imports[lane.name][module] = told
        self._fatal[lane.name][module] = message

    def _can_run(self, lane: Lane) -> bool:
        """Whether the lane's backend imported. Raises OracleError where world A's did not."""
        told = self.imports[lane.name].get("backend")
        if told is None:
            return True
        if lane.name == "a":
            code = told["code"] if told["code"] != "worker_crashed" else "backend_import_failed"
            path, _, line = (told["where"] or self._spec.backend.rpartition("/")[2]).partition(":")
            raise OracleError(Problem(code=code, message=told["message"], path=path, line=int(line) if line else None))
        lane.refuse_all(told)
        return False


def _request_too_large(size: int) -> wire.Answer:
    message = f"the episode's request has {size} bytes, more than the {wire.MESSAGE_LIMIT} of a message"
    return answers.breakdown_answer(deadlines.breakdown("worker_message_too_large", message, CALL))


def sweep_abandoned() -> None:
    """Remove the temporary directories of our own processes that were killed before they could."""
    for path in Path(tempfile.gettempdir()).glob("bfcl-[0-9]*-*"):
        with suppress(OSError, ValueError):
            if path.stat().st_uid == os.getuid() and not _alive(int(path.name.split("-")[1])):
                shutil.rmtree(path, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
