"""How do many tasks of one kind, public or private, come to scores of one candidate? Nothing is kept beside the scores.

Rule: evaluation.md §5-§9. Driver, oracle and scorer are those of every other mode.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from bfcl.canonical import Json
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.desk import OracleDesk
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.drive.results import RecordedResults, Results
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.drive.task_spec import TaskSpecs
from bfcl.evaluate.drive.window import in_flight
from bfcl.evaluate.held_out.private import PrivateTask
from bfcl.evaluate.held_out.withheld import withheld
from bfcl.evaluate.records import EpisodeStatus, Script, TaskScore
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.settings.model import Candidate, EvalSettings
from bfcl.exports.row import ExportRow
from bfcl.modelio.chat_live import Completing
from bfcl.pack.model import Pack


class Chat(Completing, Protocol):
    """The client of one episode."""

    def clock(self) -> float:
        """Seconds, by which the deadlines of the episode are told."""
        ...


class Host(Protocol):
    """The run around a held-out evaluation: who asks, and what is to be seen to between tasks.

    What it is told of a task is how it ended. Nothing that a client of it concludes may be put on record.
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

    async def after_task(self, status: EpisodeStatus) -> None:
        """After every task. Raises: EvalError where the run is to stop."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Playable:
    """Tasks that can be played. Tells nothing of itself."""

    scripts: Mapping[str, Script] = field(repr=False)
    """By task id, in the order in which they are played."""
    specs: TaskSpecs | None = field(repr=False)
    """None where nothing runs."""
    rows: Mapping[str, ExportRow] = field(repr=False)
    private: bool


def public_tasks(rows: Iterable[ExportRow], pack: Pack | None, manifest: Mapping[str, Json]) -> Playable:
    """Published rows. `pack` is the verified one where they are played live. Raises: as `read_script`."""
    found = {row.task_id: row for row in rows}
    specs = None if pack is None else TaskSpecs(pack, manifest, list(found.values()))
    return Playable(
        scripts={task_id: read_script(row) for task_id, row in found.items()},
        specs=specs,
        rows=found,
        private=False,
    )


def hidden_tasks(tasks: Iterable[PrivateTask], pack: Pack | None) -> Playable:
    """Private tasks. `pack` is the verified one where they are played live."""
    found = {one.row.task_id: one for one in tasks}
    return Playable(
        scripts={task_id: one.script for task_id, one in found.items()},
        specs=None if pack is None else _PrivateSpecs(pack, list(found.values())),
        rows={task_id: one.row for task_id, one in found.items()},
        private=True,
    )


class _PrivateSpecs(TaskSpecs):
    """Specs of tasks whose bindings are at hand, where those of a published row have to be found again."""

    def __init__(self, pack: Pack, tasks: Iterable[PrivateTask]) -> None:
        super().__init__(pack, {}, ())
        self._bound = {one.row.task_id: one.task for one in tasks}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all tasks of a run are played with. `desk` is None where nothing runs."""

    settings: EvalSettings
    host: Host
    desk: OracleDesk | None


async def played(
    playable: Playable, candidate: Candidate, client: Callable[[], Chat], around: Surroundings
) -> list[TaskScore]:
    """Play every task once, `max_parallel_tasks` at a time; scores come in the order of the tasks.

    Raises: EvalError where the whole run has to stop, without the words of a private task.
    """
    settings, host, desk = around.settings, around.host, around.desk
    scores: dict[str, TaskScore] = {}

    def results(task_id: str) -> Results:
        if desk is None or playable.specs is None:
            return RecordedResults()
        return LiveResults(desk, playable.specs.of(playable.rows[task_id]), settings.scoring)

    async def play(task_id: str) -> None:
        await host.before_task()
        chat, script = client(), playable.scripts[task_id]
        asking = Asking(
            candidate=candidate,
            client=chat,
            mode="trace" if desk is None else "executable",
            seed_policy=settings.repeats.seed_policy,
        )
        with withheld("a private task ended the run") if playable.private else contextlib.nullcontext():
            live = results(task_id)
            evidence = await drive(script, asking, live, settings.scoring, settings.limits, clock=chat.clock)
            scores[task_id] = score_episode(script, evidence, settings.scoring)
        await host.after_task(evidence.status)

    await in_flight(playable.scripts, min(settings.limits.max_parallel_tasks, len(playable.scripts)), play)
    return [scores[task_id] for task_id in playable.scripts]
