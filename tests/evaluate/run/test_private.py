"""Private tasks are asked by the run's client and on its meter, and leave nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bfcl.digest import sha256_of
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.results import RecordedResults
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.held_out.playing import Ended, Part
from bfcl.evaluate.records import EpisodeStatus, TaskScore, attribution
from bfcl.evaluate.run.clients import oracle_jobs
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.private import PrivateHost
from bfcl.evaluate.run.stopped import Stopped
from bfcl.evaluate.run.unanswered import Cause
from bfcl.evaluate.scripted.server import serve
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.modelio.exchange import ChatOutcome
from tests.evaluate.driven import LIMITS, SCORING, candidate, outcome_of
from tests.evaluate.refusals import refused
from tests.evaluate.scripted.rows import rows
from tests.evaluate.settings.builder import loaded
from tests.modelio.recording import request

if TYPE_CHECKING:
    from bfcl.evaluate.run.watching import Watching


@dataclass
class Watched:
    """Stands for the watch over a source."""

    problem: Problem | None = None
    tasks: int = 0

    async def before_task(self) -> None:
        self.tasks += 1
        if self.problem is not None:
            raise EvalError(self.problem)


def hosted(root: Path, *, watched: Watched | None = None, stops: int | None = None) -> PrivateHost:
    return PrivateHost(
        settings=replace(loaded(root), limits=LIMITS),
        watching=cast("Watching", watched or Watched()),
        meter=Meter(Envelope(path=root, eval_config_path=root, max_infrastructure_stops=stops)),
        how=How(environment={"SMALL_KEY": "canary-71ab"}),
    )


def test_every_episode_has_a_client_of_its_own_that_the_meter_counts_and_no_record(tmp_path: Path) -> None:
    host = hosted(tmp_path)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}

    async def play() -> None:
        async with serve(rows(2)) as serving:
            asked = replace(candidate(), base_url=serving.base_url, model="scripted-gold")
            async with host.asking(asked) as client:
                for row in rows(2):
                    chat = client()
                    asking = Asking(candidate=asked, client=chat, mode="trace", clock=chat.clock)
                    evidence = await drive(read_script(row), asking, RecordedResults(), SCORING, LIMITS)
                    assert evidence.status == "completed"
                    assert [one.replayed for one in chat.outcomes] == [False] * len(evidence.turns)
            assert (host.meter.calls, host.meter.requests) == (serving.requests, serving.requests) == (8, 8)

    asyncio.run(play())
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_oracle_has_the_worker_processes_of_the_run(tmp_path: Path) -> None:
    host = hosted(tmp_path)
    assert host.jobs == oracle_jobs(host.settings)


def test_task_begins_once_the_source_is_seen_to(tmp_path: Path) -> None:
    watched = Watched()
    asyncio.run(hosted(tmp_path, watched=watched).before_task())
    assert watched.tasks == 1
    broken = Watched(Problem(code="eval_source_changed_during_eval", message="other bytes", fix="restore it"))
    (problem,) = refused(lambda: asyncio.run(hosted(tmp_path, watched=broken).before_task()))
    assert str(problem) == "eval_source_changed_during_eval: other bytes\n  fix: restore it"


def ended(status: EpisodeStatus, part: Part = "held-out", *, last: ChatOutcome | None = None) -> Ended:
    score = TaskScore(
        candidate_alias="small",
        task_id="t",
        mode="trace",
        trial=0,
        episode_status=status,
        gates=(),
        task_success=status == "completed",
        non_candidate_stop=attribution(status) == "infrastructure",
        failures=(),
        counts={},
        score_hash=sha256_of(b"t"),
    )
    return Ended("small", part, score, last)


def test_stops_are_told_by_part_with_what_the_server_said_last(tmp_path: Path) -> None:
    host = hosted(tmp_path)
    asked = replace(candidate(), base_url="http://x/v1")
    host = replace(host, settings=replace(host.settings, candidates=(asked, candidate("untouched"))))
    (attempt,) = outcome_of(request("t"), "provider_rejected").attempts
    refused_last = replace(outcome_of(request("t"), "provider_rejected"), attempts=(replace(attempt, http_status=400),))

    async def end() -> None:
        await host.after_task(ended("completed"))
        await host.after_task(ended("completed", "public"))
        await host.after_task(ended("candidate_call_failed", last=refused_last))
        await host.after_task(ended("episode_timeout"))
        await host.after_task(ended("candidate_call_failed", last=refused_last))
        await host.after_task(ended("oracle_reset_failed", "public"))

    asyncio.run(end())
    alike: dict[str, Any] = {"alias": "small", "endpoint": "http://x/v1", "model": "org/small", "answered": False}
    assert list(host.stopped()) == [
        Stopped(part="public", tasks=2, stops=1, causes={Cause("oracle_reset_failed", "episode"): 1}, **alike),
        Stopped(
            part="held-out",
            tasks=4,
            stops=3,
            causes={Cause("HTTP 400 Bad Request", "answered", 400): 2, Cause("episode_timeout", "episode"): 1},
            **alike,
        ),
    ]
    assert host.meter.stops == 4


def test_only_what_infrastructure_ended_is_counted_as_a_stop(tmp_path: Path) -> None:
    host = hosted(tmp_path, stops=2)

    async def end() -> None:
        await host.after_task(ended("completed"))
        await host.after_task(ended("candidate_mismatch"))
        await host.after_task(ended("oracle_call_failed"))
        assert host.meter.stops == 1
        await host.after_task(ended("oracle_call_failed"))

    (problem,) = refused(lambda: asyncio.run(end()))
    assert (problem.code, problem.field) == ("eval_budget_exhausted", "max_infrastructure_stops")
    assert problem.message == "2 tasks ended for reasons that are not the candidate's: oracle_call_failed, 2 times"
