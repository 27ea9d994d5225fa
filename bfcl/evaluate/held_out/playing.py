"""How do many tasks of one kind, public or private, come to scores of one candidate? Nothing is kept beside the scores.

Rule: evaluation.md §5-§9. Driver, oracle and scorer are those of every other mode.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from bfcl.evaluate.drive.asking import Seat
from bfcl.evaluate.drive.desk import OracleDesk
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.drive.task_spec import TaskSpecs, published_specs
from bfcl.evaluate.drive.tasks import Tasks
from bfcl.evaluate.drive.window import in_flight
from bfcl.evaluate.held_out.private import PrivateTask, mode_of
from bfcl.evaluate.held_out.withheld import withheld
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.settings.model import Candidate, EvalSettings
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.exports.row import ExportRow
from bfcl.modelio.chat_live import Completing
from bfcl.modelio.exchange import ChatOutcome
from bfcl.pack.model import Pack


class Chat(Completing, Protocol):
    """The client of one episode."""

    def clock(self) -> float:
        """Seconds, by which the deadlines of the episode are told."""
        ...

    @property
    def outcomes(self) -> Sequence[ChatOutcome]:
        """How the calls of the episode were concluded, in their order."""
        ...


Part = Literal["public", "held-out"]
"""Which side of the comparison a task stands on."""


class Ended(NamedTuple):
    """A task that was played."""

    alias: str
    """Whose it was."""
    part: Part
    score: TaskScore
    last: ChatOutcome | None
    """Of its last call, None where it made none."""


class Host(Protocol):
    """The run around a held-out evaluation: who asks, and what is to be seen to between tasks.

    It may count how tasks ended. Nothing that a client of it concludes may be put on record.
    """

    @property
    def jobs(self) -> int:
        """Worker processes that an oracle may have."""
        ...

    def asking(self, candidate: Candidate) -> AbstractAsyncContextManager[Callable[[], Chat]]:
        """Makes a client for each episode of a candidate."""
        ...

    async def before_task(self) -> None:
        """Before every task. Raises: EvalError where the source changed."""
        ...

    async def after_task(self, ended: Ended) -> None:
        """After every task. Raises: EvalError where the run is to stop."""
        ...


def public_tasks(settings: EvalSettings, verified: VerifiedSource, rows: Iterable[ExportRow]) -> Tasks:
    """Published rows. Raises: as `read_script`."""
    found = {row.task_id: row for row in rows}
    pack = _played_on(settings, verified)
    return Tasks(
        settings=settings,
        scripts={task_id: read_script(row) for task_id, row in found.items()},
        rows=found,
        specs=None if pack is None else published_specs(pack, verified.manifest, list(found.values())),
    )


def private_as_tasks(settings: EvalSettings, verified: VerifiedSource, tasks: Iterable[PrivateTask]) -> Tasks:
    """Private tasks, whose bindings are at hand where those of a published row have to be found again."""
    found = {one.row.task_id: one for one in tasks}
    pack = _played_on(settings, verified)
    return Tasks(
        settings=settings,
        scripts={task_id: one.script for task_id, one in found.items()},
        rows={task_id: one.row for task_id, one in found.items()},
        specs=None if pack is None else TaskSpecs(pack, {task_id: one.task for task_id, one in found.items()}),
    )


def _played_on(settings: EvalSettings, verified: VerifiedSource) -> Pack | None:
    """The pack that tasks are played against, None where nothing runs."""
    return verified.pack if mode_of(settings) == "executable" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where one candidate is asked: within a run, by clients of its own. `desk` is None where nothing runs."""

    part: Part
    host: Host
    desk: OracleDesk | None
    candidate: Candidate
    client: Callable[[], Chat]


async def played(tasks: Tasks, table: Table) -> list[TaskScore]:
    """Play every task once, `max_parallel_tasks` at a time; scores come in the order of the tasks.

    Raises: EvalError where the whole run has to stop, without the words of a task that is not public.
    """
    hushed = table.part == "held-out"
    settings, scores = tasks.settings, dict[str, TaskScore]()

    async def play(task_id: str) -> None:
        await table.host.before_task()
        chat = table.client()
        with withheld("a private task ended the run") if hushed else contextlib.nullcontext():
            seat = Seat(candidate=table.candidate, client=chat, clock=chat.clock)
            evidence = await tasks.play(task_id, seat, tasks.results(task_id, table.desk))
            score = scores[task_id] = score_episode(tasks.scripts[task_id], evidence, settings.scoring)
        last = chat.outcomes[-1] if chat.outcomes else None
        await table.host.after_task(Ended(table.candidate.alias, table.part, score, last))

    await in_flight(tasks.scripts, min(settings.limits.max_parallel_tasks, len(tasks.scripts)), play)
    return [scores[task_id] for task_id in tasks.scripts]
