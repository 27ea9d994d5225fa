"""Has a run that is gone on from any answer for this one? Told before anybody is asked and paid. Rule: §11.

An answer is taken over where a request is the same to the last byte. Every conversation begins with a request that is
known beforehand, so where none of those is on record, nothing behind them can be of use either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bfcl.errors import EvalError, Problem
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.run.asked import Nobody
from bfcl.evaluate.run.earlier import EarlierCalls
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.settings.envelope import INVALID as CLI_INVALID
from bfcl.evaluate.settings.resolved import RESUME_FROM
from bfcl.modelio.exchange import ChatRequest
from bfcl.pack.layout import shown

UNUSABLE: Final = "resumed_answers_unusable"

_OTHER: Final = "name the directory of the run to go on with, or leave `resume_from` out"
_SHOWN: Final = 3


def check_related(prepared: Prepared, calls: EarlierCalls | None) -> tuple[Problem, ...]:
    """Warnings. Nothing is said of runs that hold no answer, or one of use, nor of a run that is on record itself.

    Raises: EvalError `eval_cli_invalid` where all answers are of other candidates, or of other tasks; of a damaged
    record.
    """
    if calls is None or prepared.before.concluded:
        return ()
    if any(calls.find(request) is not None for request in _first_requests(prepared)):
        return ()
    asked: dict[tuple[str, str], None] = {}
    tasks = answers = 0
    for exchange in calls.answers():
        answers += 1
        asked[exchange.request.candidate_alias, exchange.request.canonical_model_identity] = None
        tasks += exchange.request.task_id in prepared.scripts
    if answers == 0:
        return ()
    path = shown(prepared.earlier.directories[0])
    ours = {(one.alias, one.canonical_id) for one in prepared.settings.candidates}
    if ours.isdisjoint(asked):
        message = f"is of other candidates: {_listed(asked)} answered there, {_listed(dict.fromkeys(sorted(ours)))} is"
        raise EvalError(_refused(path, f"{message} asked here"))
    if tasks == 0:
        raise EvalError(_refused(path, f"is of another benchmark: none of its {answers} answers is to a task of this"))
    return (
        Problem(
            code=UNUSABLE,
            path=path,
            message=f"{answers} answers are on record, and none is to a request as this run makes it; all is asked "
            "again",
            fix="where they were paid for, stop, and take back what was changed: model, endpoint, inference settings, "
            "prompts and tools of the tasks",
        ),
    )


def _first_requests(prepared: Prepared) -> Iterator[ChatRequest]:
    """Of every conversation that this run is going to begin."""
    settings = prepared.settings
    for trial in range(settings.repeats.trials):
        for candidate in settings.candidates:
            asking = Asking(
                candidate=candidate,
                client=Nobody(),
                mode="trace",
                trial=trial,
                seed_policy=settings.repeats.seed_policy,
            )
            for task_id in prepared.plan.task_ids(candidate.alias):
                script = prepared.scripts[task_id]
                yield asking.request(script, script.seed_messages, 0)


def _listed(candidates: dict[tuple[str, str], None]) -> str:
    told = [f"{alias} ({canonical_id})" for alias, canonical_id in candidates]
    return ", ".join(told[:_SHOWN]) + (f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else "")


def _refused(path: str, message: str) -> Problem:
    return Problem(code=CLI_INVALID, path=path, field=RESUME_FROM, message=f"{RESUME_FROM} {message}", fix=_OTHER)
