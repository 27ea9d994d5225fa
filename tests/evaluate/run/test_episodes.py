from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.records import EpisodeEvidence
from bfcl.evaluate.run.asked import Nobody
from bfcl.evaluate.run.episodes import Player, tasks_of
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.preflight import Prepared, prepare
from bfcl.evaluate.run.records import Records, open_records
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.modelio.chat_live import Completing
from bfcl.modelio.exchange import ChatOutcome, ChatRequest
from tests.evaluate.arena import Arena, Edit, executable
from tests.evaluate.driven import as_expected, outcome_of

FAST = "episode over before the second turn"


class Gold:
    """Does as the scripts say, taking its time."""

    def __init__(self, prepared: Prepared, *, takes_s: float = 0.0) -> None:
        self._scripts = prepared.scripts
        self._takes_s = takes_s
        self.asked: list[str] = []

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        self.asked.append(request.request_id)
        until = time.monotonic() + self._takes_s
        while time.monotonic() < until:
            await asyncio.sleep(0)
        return outcome_of(request, as_expected(self._scripts[request.task_id].turns[request.turn_index]))


def opened(arena: Arena, *edits: Edit) -> tuple[Prepared, Envelope]:
    path = arena.configure("mine", "http://127.0.0.1:9/v1", *edits)
    envelope = Envelope(path=path, eval_config_path=path)
    return prepare(envelope, load_settings(path), How()), envelope


def player(prepared: Prepared, records: Records, envelope: Envelope, live: Completing) -> Player:
    (candidate,) = prepared.settings.candidates
    return Player(
        prepared=prepared,
        candidate=candidate,
        tasks=tasks_of(prepared),
        records=records,
        live=live,
        meter=Meter(envelope),
        desk=None,
    )


def longest(prepared: Prepared) -> str:
    return max(prepared.scripts, key=lambda task_id: len(prepared.scripts[task_id].turns))


def test_episode_whose_time_was_up_replays_as_such(arena: Arena) -> None:
    prepared, envelope = opened(arena)
    limits = replace(prepared.settings.limits, candidate_timeout_s=0.001, episode_timeout_s=0.001)
    prepared = replace(prepared, settings=replace(prepared.settings, limits=limits))
    task_id = longest(prepared)

    async def play(live: Completing) -> EpisodeEvidence:
        records = open_records(prepared.settings)
        return (await player(prepared, records, envelope, live).play(task_id, 0)).evidence

    first = asyncio.run(play(Gold(prepared, takes_s=0.002)))
    assert (first.status, len(first.turns)) == ("episode_timeout", 1)
    assert asyncio.run(play(Nobody())) == first


def test_further_trial_is_another_request(arena: Arena) -> None:
    prepared, envelope = opened(arena)
    live = Gold(prepared)
    records = open_records(prepared.settings)
    task_id = next(iter(prepared.scripts))

    async def work() -> None:
        for trial in (0, 2):
            played = await player(prepared, records, envelope, live).play(task_id, trial)
            assert played.evidence.trial == trial
            assert len(played.outcomes) == len(played.evidence.turns)

    asyncio.run(work())
    turns = len(prepared.scripts[task_id].turns)
    assert live.asked == [f"scripted:{task_id}:{turn}{mark}" for mark in ("", ":t2") for turn in range(turns)]


def test_concluded_run_without_a_record_of_an_episode_is_refused(arena: Arena) -> None:
    prepared, envelope = opened(arena, executable)
    records = open_records(prepared.settings)
    task_id = longest(prepared)
    with pytest.raises(EvalError) as refusal:
        asyncio.run(player(prepared, records, envelope, Nobody()).play(task_id, 1))
    (problem,) = refusal.value.problems
    assert str(problem) == (
        f"build/eval/mine/tool_trace_cache.jsonl: eval_artifact_invalid: has no episode of {task_id} in trial 1, "
        "and the run is concluded\n"
        "  fix: restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
    )
