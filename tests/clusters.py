"""A Dask cluster on this machine: a scheduler and workers as processes, and work for them that a test controls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed

from bfcl.errors import OracleError, Problem
from bfcl.graph.executor import Job

REPOSITORY = Path(__file__).resolve().parents[1]
PATIENCE_S = 60
"""Until a cluster that does not come up fails its test; no test waits for it."""


class Cluster:
    """A scheduler, its workers, and the directory of their temporary files."""

    def __init__(self, root: Path, **variables: str) -> None:
        self.root = root.resolve()
        self.temporary = self.root / "tmp"
        self.temporary.mkdir(parents=True)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._variables = variables
        noted = self.root / "address.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(noted))
        until(lambda: noted.exists() and noted.read_text().rstrip().endswith("}"), self.scheduler)
        with distributed.Client(scheduler_file=str(noted), set_as_default=False) as client:
            self.address: str = client.scheduler.address

    def add(self, *, threads: int = 1, package: Path = REPOSITORY) -> subprocess.Popen[bytes]:
        """Start a worker whose `bfcl` is the one below `package`."""
        local = self.root / f"worker{len(self.workers)}"
        worker = self._start(
            "worker", self.address, "--name", local.name, "--no-nanny", "--nthreads", str(threads),
            "--local-directory", str(local), package=package,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def ready(self) -> Cluster:
        """Wait until every worker has joined."""
        with distributed.Client(self.address, set_as_default=False) as client:
            if self.workers:
                client.wait_for_workers(len(self.workers), timeout=PATIENCE_S)
        return self

    def addresses(self) -> list[str]:
        """Of the workers that are there, in the order they were added."""
        with distributed.Client(self.address, set_as_default=False) as client:
            there = client.scheduler_info()["workers"]
        return sorted(there, key=lambda address: str(there[address]["name"]))

    def tasks(self) -> int:
        """How many tasks the scheduler knows."""
        with distributed.Client(self.address, set_as_default=False) as client:
            known: int = client.run_on_scheduler(_known)
            return known

    def end(self) -> None:
        """Ask every process to end in good order, workers first, and wait for it."""
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE_S)

    def _start(self, kind: str, *arguments: str, package: Path = REPOSITORY) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        search = {"PYTHONPATH": os.pathsep.join((str(package), str(REPOSITORY))), "TMPDIR": str(self.temporary)}
        with (self.root / f"{kind}{len(self.workers)}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1", "--no-dashboard",
                 *arguments],
                env={**kept, **search, **self._variables},
                cwd=self.root,
                stdout=log,
                stderr=log,
            )  # fmt: skip


@contextmanager
def cluster(root: Path, *, workers: int, threads: int = 1, **variables: str) -> Iterator[Cluster]:
    """A cluster that has come up; `variables` are of the environment of its processes."""
    running = Cluster(root, **variables)
    try:
        for _ in range(workers):
            running.add(threads=threads)
        yield running.ready()
    finally:
        running.end()


def until(reached: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Watch until the condition holds; fails where the process ends before."""
    patience = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < patience, "nothing happened"
        try:
            process.wait(timeout=0.005)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"ended with {process.returncode}")


def _known(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


# --- work for them, importable there ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """Each job's rows say its number, once a task."""

    def __call__(self, jobs: Sequence[Job]) -> list[list[bytes]]:
        return [[b"%d" % one.number] * one.tasks for one in jobs]


@dataclass(frozen=True)
class Note(Count):
    """Also leaves a file per group, named by its first job."""

    directory: Path

    def __call__(self, jobs: Sequence[Job]) -> list[list[bytes]]:
        (self.directory / f"{jobs[0].number}.{os.getpid()}").touch()
        return super().__call__(jobs)


@dataclass(frozen=True)
class Hold(Note):
    """And waits for the file `go` there, or the group's own."""

    def __call__(self, jobs: Sequence[Job]) -> list[list[bytes]]:
        rows = super().__call__(jobs)
        while not any((self.directory / name).exists() for name in ("go", f"go{jobs[0].number}")):
            os.sched_yield()
        return rows


@dataclass(frozen=True)
class Refuse:
    def __call__(self, jobs: Sequence[Job]) -> list[list[bytes]]:
        raise OracleError(Problem(code="worker_start_failed", message="no room", fix="make room"))


@dataclass(frozen=True)
class Blunder:
    def __call__(self, jobs: Sequence[Job]) -> list[list[bytes]]:
        raise RuntimeError("a bug")


@dataclass(frozen=True)
class Lose:
    def __call__(self, jobs: Sequence[Job]) -> list[list[bytes]]:
        return []


@dataclass(frozen=True)
class Die:
    def __call__(self, jobs: Sequence[Job]) -> list[list[bytes]]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []
