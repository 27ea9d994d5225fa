"""What do all candidates of a run come to, once every gate is passed? Rule: evaluation.md §5, §10, §11."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from bfcl.evaluate.artifacts.result import CandidateResult, Result
from bfcl.evaluate.drive.desk import OracleDesk, open_desk
from bfcl.evaluate.held_out.playing import Part
from bfcl.evaluate.held_out.private import PrivateTasks, private_tasks
from bfcl.evaluate.held_out.report import Basis, HeldOutReport
from bfcl.evaluate.held_out.run import run_held_out
from bfcl.evaluate.run.asked import Nobody
from bfcl.evaluate.run.clients import live_chat, oracle_jobs
from bfcl.evaluate.run.episodes import Player, tasks_of
from bfcl.evaluate.run.evidence import Used
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.outcome import CallSources
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.run.private import PrivateHost
from bfcl.evaluate.run.records import Records
from bfcl.evaluate.run.stopped import Stopped
from bfcl.evaluate.run.trials import CandidateRun
from bfcl.evaluate.run.watching import Watching
from bfcl.evaluate.score.aggregate import Identities
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import Candidate
from bfcl.modelio.chat_live import Completing


class Measured(NamedTuple):
    """The public result, None where private tasks alone are asked for; what may be told of private ones, if any."""

    public: Result | None
    private: HeldOutReport | None
    calls: CallSources
    stopped: tuple[Stopped, ...]
    """By alias, public tasks before held-out ones."""


async def measure(prepared: Prepared, records: Records, envelope: Envelope, how: How) -> Measured:
    """Ask candidate after candidate, by alias; then hold source and records against what was made of them.

    Raises: EvalError with the code that stopped the run.
    """
    settings = prepared.settings
    watching, meter, used = Watching(prepared), Meter(envelope), Used()
    hidden = await private_tasks_of(prepared)
    await watching.settle()
    public, stopped = None, tuple[Stopped, ...]()
    if settings.public:
        public, stopped = await _public(prepared, records, _Around(watching, meter, how), used)
    on_record = used.calls.total.number - meter.calls
    private = None
    if hidden is not None:
        host = PrivateHost(settings=settings, watching=watching, meter=meter, how=how)
        private = await run_held_out(
            Basis(
                eval_run_id=prepared.before.eval_run_id,
                settings=settings,
                verified=prepared.verified,
                plan=prepared.plan,
            ),
            host,
            seen=None if public is None else {one.candidate.alias: one.scores for one in public.candidates},
            private=hidden,
        )
        stopped = tuple(sorted((*stopped, *host.stopped()), key=lambda one: one.alias))
    await watching.settle()
    concluded = prepared.before.concluded
    calls = CallSources(
        asked=meter.calls, taken_over=0 if concluded else on_record, replayed=on_record if concluded else 0
    )
    return Measured(public, private, calls, stopped)


async def private_tasks_of(prepared: Prepared) -> PrivateTasks | None:
    """The private tasks, None where the mode is not asked for. Raises: as `private_tasks`."""
    if "held_out_eval" not in prepared.settings.modes:
        return None
    return await private_tasks(prepared.settings, prepared.verified, jobs=oracle_jobs(prepared.settings))


class _Around(NamedTuple):
    watching: Watching
    meter: Meter
    how: How


async def _public(
    prepared: Prepared, records: Records, around: _Around, used: Used
) -> tuple[Result, tuple[Stopped, ...]]:
    identities, tasks = identities_of(prepared), tasks_of(prepared)
    measured: list[CandidateResult] = []
    runs: list[CandidateRun] = []
    async with _desk(prepared, records) as desk:
        for candidate in prepared.settings.candidates:
            async with _asking(candidate, prepared, around) as live:
                player = Player(
                    prepared=prepared,
                    candidate=candidate,
                    tasks=tasks,
                    records=records,
                    live=live,
                    meter=around.meter,
                    desk=desk,
                )
                run = CandidateRun(player, around.watching, used, around.how.showing)
                result = await run.measure(identities)
                measured.append(result)
                runs.append(run)
    used.check(records)
    answered = any(run.answered for run in runs)
    stopped = [
        _stops_of(result, run, answered=answered, part="public" if prepared.settings.held_out else None)
        for result, run in zip(measured, runs, strict=True)
        if result.aggregate.non_candidate_stops
    ]
    return result_of(prepared, measured), tuple(stopped)


def _stops_of(result: CandidateResult, run: CandidateRun, *, answered: bool, part: Part | None) -> Stopped:
    return Stopped(
        alias=result.candidate.alias,
        part=part,
        tasks=result.aggregate.task_count,
        stops=result.aggregate.non_candidate_stops,
        causes=run.stop_causes,
        endpoint=result.candidate.base_url,
        model=result.candidate.model,
        answered=answered,
    )


def result_of(prepared: Prepared, measured: Iterable[CandidateResult]) -> Result:
    """What a run comes to, its candidates by alias."""
    return Result(
        eval_run_id=prepared.before.eval_run_id,
        settings=prepared.settings,
        verified=prepared.verified,
        plan=prepared.plan,
        rows=prepared.rows,
        identities=identities_of(prepared),
        candidates=tuple(measured),
    )


def identities_of(prepared: Prepared) -> Identities:
    """Under what the scores of a run are made."""
    scoring, oracle = prepared.settings.scoring, prepared.verified.oracle
    ran = oracle if prepared.settings.executable else None
    return Identities(
        plan_identity=prepared.plan.plan_identity,
        scoring_policy_hash=scoring.policy_hash,
        scoring_contract_hash=scoring.contract_hash,
        oracle_hash=None if ran is None else ran.pack.fingerprint,
    )


@contextlib.asynccontextmanager
async def _desk(prepared: Prepared, records: Records) -> AsyncIterator[OracleDesk | None]:
    """The oracle of executable episodes; none where nothing runs, and where every episode is on record."""
    settings, oracle = prepared.settings, prepared.verified.oracle
    if not settings.executable or (prepared.before.concluded and records.episodes is not None):
        yield None
        return
    assert oracle is not None
    async with open_desk(oracle.pack, oracle.config, jobs=oracle_jobs(settings)) as desk:
        yield desk


@contextlib.asynccontextmanager
async def _asking(candidate: Candidate, prepared: Prepared, around: _Around) -> AsyncIterator[Completing]:
    """Who answers for a candidate what no record does; nobody once the run is concluded."""
    if prepared.before.concluded:
        yield Nobody()
        return
    async with live_chat(candidate, prepared.settings.limits, around.meter, around.how) as live:
        yield live
