"""What do all candidates of a run come to, once every gate is passed? Rule: evaluation.md §5, §10, §11."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from bfcl.evaluate.artifacts.result import CandidateResult, Result
from bfcl.evaluate.drive.desk import open_desk
from bfcl.evaluate.drive.task_spec import TaskSpecs
from bfcl.evaluate.held_out.private import PrivateTasks, private_tasks
from bfcl.evaluate.held_out.report import HeldOutReport
from bfcl.evaluate.held_out.run import run_held_out
from bfcl.evaluate.run.asked import Nobody
from bfcl.evaluate.run.clients import live_chat, oracle_jobs
from bfcl.evaluate.run.episodes import Oracle, Player
from bfcl.evaluate.run.evidence import Used
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.run.private import PrivateHost
from bfcl.evaluate.run.records import Records
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


async def measure(prepared: Prepared, records: Records, envelope: Envelope, how: How) -> Measured:
    """Ask candidate after candidate, by alias; then hold source and records against what was made of them.

    Raises: EvalError with the code that stopped the run.
    """
    settings = prepared.settings
    watching, meter = Watching(prepared), Meter(envelope)
    hidden = await hidden_tasks(prepared)
    await watching.settle()
    public = await _public(prepared, records, _Around(watching, meter, how)) if settings.public else None
    private = None
    if hidden is not None:
        private = await run_held_out(
            settings,
            prepared.verified,
            prepared.plan,
            PrivateHost(settings=settings, watching=watching, meter=meter, how=how),
            eval_run_id=prepared.before.eval_run_id,
            seen=None if public is None else {one.candidate.alias: one.scores for one in public.candidates},
            private=hidden,
        )
    await watching.settle()
    return Measured(public, private)


async def hidden_tasks(prepared: Prepared) -> PrivateTasks | None:
    """The private tasks, None where the mode is not asked for. Raises: as `private_tasks`."""
    if "held_out_eval" not in prepared.settings.modes:
        return None
    return await private_tasks(prepared.settings, prepared.verified, jobs=oracle_jobs(prepared.settings))


class _Around(NamedTuple):
    watching: Watching
    meter: Meter
    how: How


async def _public(prepared: Prepared, records: Records, around: _Around) -> Result:
    used, identities = Used(), _identities(prepared)
    measured: list[CandidateResult] = []
    async with _oracle(prepared, records) as oracle:
        for candidate in prepared.settings.candidates:
            async with _asking(candidate, prepared, around) as live:
                player = Player(
                    prepared=prepared,
                    candidate=candidate,
                    records=records,
                    live=live,
                    meter=around.meter,
                    oracle=oracle,
                )
                run = CandidateRun(player, around.watching, used, around.how.showing)
                measured.append(await run.measure(identities))
    used.check(records)
    return Result(
        eval_run_id=prepared.before.eval_run_id,
        settings=prepared.settings,
        verified=prepared.verified,
        plan=prepared.plan,
        rows=prepared.rows,
        identities=identities,
        candidates=tuple(measured),
    )


def _identities(prepared: Prepared) -> Identities:
    scoring, oracle = prepared.settings.scoring, prepared.verified.oracle
    ran = oracle if prepared.settings.executable else None
    return Identities(
        plan_identity=prepared.plan.plan_identity,
        scoring_policy_hash=scoring.policy_hash,
        scoring_contract_hash=scoring.contract_hash,
        oracle_hash=None if ran is None else ran.pack.fingerprint,
    )


@contextlib.asynccontextmanager
async def _oracle(prepared: Prepared, records: Records) -> AsyncIterator[Oracle | None]:
    """What executable episodes rest on; without processes where every episode is on record."""
    settings, verified = prepared.settings, prepared.verified
    if not settings.executable:
        yield None
        return
    assert verified.oracle is not None
    specs = TaskSpecs(verified.oracle.pack, verified.manifest, list(prepared.rows.values()))
    if prepared.before.concluded and records.episodes is not None:
        yield Oracle(specs=specs, desk=None)
        return
    async with open_desk(verified.oracle.pack, verified.oracle.config, jobs=oracle_jobs(settings)) as desk:
        yield Oracle(specs=specs, desk=desk)


@contextlib.asynccontextmanager
async def _asking(candidate: Candidate, prepared: Prepared, around: _Around) -> AsyncIterator[Completing]:
    """Who answers for a candidate what no record does; nobody once the run is concluded."""
    if prepared.before.concluded:
        yield Nobody()
        return
    async with live_chat(candidate, prepared.settings.limits, around.meter, around.how) as live:
        yield live
