"""How does a run measure its candidates on private tasks? The one entry for whoever runs an evaluation.

Beside other modes the public run is the seen side, and its scores are handed in. Where the mode stands alone there is
no public run to report: the planned public tasks are driven here, live as the private ones, and leave nothing but their
part of the same report. Either way the seen side is the plan's tasks in their first trial, and so is the private one:
repeats are a matter of the public report. Rule: evaluation.md §2, last paragraph.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from bfcl.evaluate.drive.desk import OracleDesk, open_desk
from bfcl.evaluate.held_out.measures import Side, Stratum, strata_of
from bfcl.evaluate.held_out.playing import Host, Table, played, private_as_tasks, public_tasks
from bfcl.evaluate.held_out.private import PrivateTasks, mode_of, private_tasks
from bfcl.evaluate.held_out.report import Basis, CandidateSides, HeldOutReport
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.plan import Plan
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.exports.row import ExportRow

Seen = Mapping[str, Sequence[TaskScore]]
"""By alias, the scores of the plan's tasks in the first trial, in plan order."""


async def run_held_out(
    basis: Basis, host: Host, *, seen: Seen | None = None, private: PrivateTasks | None = None
) -> HeldOutReport:
    """Ask every candidate, by alias, and compare.

    `seen` is given exactly where other modes run, too. `private` are the tasks of `private_tasks`, for who makes them
    before anybody is asked anything; they are made now without. Raises: EvalError with the code that ended the run,
    without the words of a private task; ValueError where `seen` does not belong to this run.
    """
    settings, verified, plan = basis.settings, basis.verified, basis.plan
    _check_seen(settings, plan, seen)
    tasks = await private_tasks(settings, verified, jobs=host.jobs) if private is None else private
    # The mode asks for one set that all candidates share.
    rows = list(plan.rows(verified.rows).values())
    public = public_tasks(settings, verified, rows) if seen is None else None
    hidden = private_as_tasks(settings, verified, tasks.tasks)
    ours, theirs = _strata(rows), _strata(one.row for one in tasks.tasks)
    candidates: list[CandidateSides] = []
    async with _desk(settings, verified, jobs=host.jobs) as desk:
        for candidate in settings.candidates:
            async with host.asking(candidate) as client:
                table = Table(part="held-out", host=host, desk=desk, candidate=candidate, client=client)
                given = (seen or {}).get(candidate.alias, ())
                openly = dataclasses.replace(table, part="public")
                public_scores = given if public is None else await played(public, openly)
                hidden_scores = await played(hidden, table)
            candidates.append(
                CandidateSides(
                    candidate=candidate,
                    seen=Side(scores=public_scores, strata=ours),
                    held_out=Side(scores=hidden_scores, strata=theirs),
                )
            )
    return HeldOutReport(
        basis=basis,
        mode=mode_of(settings),
        private_tasks=len(tasks.tasks),
        private_tasks_refused=tasks.refused,
        candidates=tuple(candidates),
    )


def _strata(rows: Iterable[ExportRow]) -> dict[str, tuple[Stratum, ...]]:
    return {row.task_id: strata_of(row) for row in rows}


def _check_seen(settings: EvalSettings, plan: Plan, seen: Seen | None) -> None:
    if (seen is None) == settings.public:
        raise ValueError("scores of a public run are given exactly where one is asked for")
    for one in plan.candidates if seen is not None else ():
        told = [(score.task_id, score.mode, score.trial) for score in (seen or {}).get(one.alias, ())]
        if told != [(task_id, mode_of(settings), 0) for task_id in one.task_ids]:
            raise ValueError(
                f"the scores of {one.alias} are not those of the planned tasks in {mode_of(settings)} mode"
            )


@contextlib.asynccontextmanager
async def _desk(settings: EvalSettings, verified: VerifiedSource, *, jobs: int) -> AsyncIterator[OracleDesk | None]:
    if mode_of(settings) == "trace" or verified.oracle is None:
        yield None
        return
    async with open_desk(verified.oracle.pack, verified.oracle.config, jobs=jobs) as desk:
        yield desk
