"""Who computes shards: one interface, so that the same shards run here or elsewhere. Rule: spec README, ruling 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from bfcl.graph.shards import Chunk
from bfcl.oracle.aside import Crew, Later, taken
from bfcl.records.template import Template

GROUP_TASKS = 256
"""Tasks handed over at once: enough to keep the workers busy between two answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One shard to compute. `rows` maps an upstream stage to its lines for this shard."""

    number: int
    """Position among the stage's shards."""
    template: Template
    chunk: Chunk
    rows: dict[str, list[bytes]]

    @property
    def tasks(self) -> int:
        return self.chunk.stop - self.chunk.start


Compute = Callable[[Sequence[Job]], list[list[bytes]]]
"""Jobs to their rows, in order. One for another process can be pickled."""


Done = list[tuple[Job, list[bytes]]]
"""A group of jobs, each with its rows."""


class Executor(Protocol):
    """Runs jobs in groups and yields each group with its rows as it is done, in no particular order."""

    def run(self, jobs: Iterator[Job], compute: Compute) -> Iterator[Done]: ...


class SerialExecutor:
    """One group after another in this thread: for stages that only compute."""

    def run(self, jobs: Iterator[Job], compute: Compute) -> Iterator[Done]:
        for group in grouped(jobs):
            yield list(zip(group, compute(group), strict=True))


class OverlappingExecutor:
    """`width` groups at once in threads: while one group's rows are judged and stored, the oracle runs the next."""

    def __init__(self, width: int, stop: Callable[[], None]) -> None:
        self._width = width
        self._stop = stop
        """Lets groups in flight end at once, when nobody wants their rows any more."""

    def run(self, jobs: Iterator[Job], compute: Compute) -> Iterator[Done]:
        groups = grouped(jobs)
        ended: SimpleQueue[Later[Done]] = SimpleQueue()
        running = 0
        crew = Crew(self._width)
        try:
            while True:
                while running < self._width and (group := next(groups, None)) is not None:
                    crew.begin(partial(_computed, compute, group), ended)
                    running += 1
                if not running:
                    return
                running -= 1
                yield taken(ended).result()
        except BaseException:
            self._stop()
            raise
        finally:
            crew.close()


def _computed(compute: Compute, group: list[Job]) -> Done:
    return list(zip(group, compute(group), strict=True))


def grouped(jobs: Iterator[Job], least: int = GROUP_TASKS) -> Iterator[list[Job]]:
    """Consecutive jobs with at least `least` tasks together, the last group excepted."""
    group: list[Job] = []
    tasks = 0
    for job in jobs:
        group.append(job)
        tasks += job.tasks
        if tasks >= least:
            yield group
            group, tasks = [], 0
    if group:
        yield group
