"""One way to play a task: mode, trial, seed and clock of every episode come from the same places."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.evaluate.drive.asking import Seat
from bfcl.evaluate.drive.desk import open_desk
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.drive.results import RecordedResults
from bfcl.evaluate.drive.tasks import Tasks
from bfcl.evaluate.records import EpisodeEvidence
from bfcl.evaluate.settings.model import EvalSettings, Repeats
from tests.evaluate.drive.benchmark import Benchmark, play_live, script_of
from tests.evaluate.driven import LIMITS, SCORING, answering, candidate
from tests.evaluate.settings.builder import loaded

TRIALS = Repeats(trials=3, seed_policy="increment")


@pytest.fixture
def settings(tmp_path: Path) -> EvalSettings:
    return replace(loaded(tmp_path), scoring=SCORING, limits=LIMITS, repeats=TRIALS)


def tasks_of(studio: Benchmark, settings: EvalSettings, *, executed: bool) -> Tasks:
    return Tasks(
        settings=settings,
        scripts={row.task_id: script_of(row) for row in studio.rows},
        rows={row.task_id: row for row in studio.rows},
        specs=studio.specs() if executed else None,
    )


def test_task_where_nothing_runs_is_played_over_its_own_row(studio: Benchmark, settings: EvalSettings) -> None:
    row = studio.row("kiln_status")
    tasks, client = tasks_of(studio, settings, executed=False), answering(script_of(row))
    results = tasks.results(row.task_id, None)
    evidence = asyncio.run(tasks.play(row.task_id, Seat(candidate=candidate(), client=client, trial=2), results))
    assert isinstance(results, RecordedResults)
    assert (evidence.status, evidence.mode, evidence.trial) == ("completed", "trace", 2)
    seed = candidate().inference.seed
    assert seed is not None
    assert {asked.body["seed"] for asked in client.requests} == {seed + 2}
    assert {asked.request_id.rpartition(":")[2] for asked in client.requests} == {"t2"}


def test_task_that_runs_is_played_on_the_desk_by_its_own_spec(studio: Benchmark, settings: EvalSettings) -> None:
    row = studio.row("kiln_status")
    tasks = tasks_of(studio, settings, executed=True)
    seat = Seat(candidate=candidate(), client=answering(script_of(row)), clock=lambda: 0.0)

    async def play() -> EpisodeEvidence:
        async with open_desk(studio.pack, studio.config) as desk:
            results = tasks.results(row.task_id, desk)
            assert isinstance(results, LiveResults)
            return await tasks.play(row.task_id, seat, results)

    assert tasks.spec(row.task_id) == studio.spec(row)
    assert asyncio.run(play()) == play_live(studio, row)


def test_time_of_an_episode_is_told_by_the_clock_of_its_seat(studio: Benchmark, settings: EvalSettings) -> None:
    row = studio.row("kiln_status")
    tasks, client = tasks_of(studio, settings, executed=False), answering(script_of(row))
    ticks = iter([0.0, LIMITS.episode_timeout_s])
    seat = Seat(candidate=candidate(), client=client, clock=lambda: next(ticks))
    evidence = asyncio.run(tasks.play(row.task_id, seat, RecordedResults()))
    assert (evidence.status, client.requests) == ("episode_timeout", [])


def test_tasks_tell_nothing_of_themselves(studio: Benchmark, settings: EvalSettings) -> None:
    assert repr(tasks_of(studio, settings, executed=True)) == "Tasks()"
