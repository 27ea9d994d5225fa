"""Has a run that is gone on from any answer for this one? Told before anybody is asked and paid. Rule: §11.

An answer is taken over where a request is the same to the last byte. Every conversation begins with a request that is
known beforehand, so where none of those is on record, nothing behind them can be of use either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from bfcl.canonical import canonical_text
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.drive.asking import Seat
from bfcl.evaluate.run.asked import Nobody
from bfcl.evaluate.run.earlier import NAME_ANOTHER, EarlierCalls
from bfcl.evaluate.run.episodes import recorded_tasks
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.settings.envelope import INVALID as CLI_INVALID
from bfcl.evaluate.settings.resolved import RESUME_FROM
from bfcl.modelio.exchange import ChatRequest
from bfcl.pack.layout import shown

_SHOWN: Final = 3
_ABSENT: Final = "not sent"
_NOT_SET: Final = ("body", "request_id", "schema_version")
_NAMES: Final = {
    "canonical_model_identity": "model_identity",
    "base_url": "api.base_url",
    "messages": "the conversation's beginning",
    "tools": "the tools",
}
"""What a field of a request is called where people set it; the others of a body are set under `inference`."""


def check_related(prepared: Prepared, calls: EarlierCalls | None) -> None:
    """Nothing is said of runs that hold no answer, or one of use, nor of a run that is on record itself.

    Raises: EvalError `eval_cli_invalid` where all answers are of other candidates, of other tasks, or to other
    requests; of a damaged record.
    """
    if calls is None or prepared.before.concluded:
        return
    if any(calls.find(request) is not None for request in _first_requests(prepared)):
        return
    _refuse_unusable(prepared, calls)


def _refuse_unusable(prepared: Prepared, calls: EarlierCalls) -> None:
    """Of a record that no conversation of this run can begin with: why. Raises: as `check_related`."""
    ours = {request.request_id: request for request in _first_requests(prepared)}
    asked: dict[tuple[str, str], None] = {}
    tasks = answers = 0
    differing: dict[str, dict[str, str]] = {}
    for exchange in calls.answers():
        answers += 1
        there = exchange.request
        asked[there.candidate_alias, there.canonical_model_identity] = None
        tasks += there.task_id in prepared.scripts
        here = ours.get(there.request_id)
        if here is not None:
            # The run that is named tells, where several differ.
            found = differing.setdefault(here.candidate_alias, {})
            found.update({name: told for name, told in _differences(there, here).items() if name not in found})
    if answers == 0:
        return
    path = shown(prepared.earlier.directories[0])
    candidates = {(one.alias, one.canonical_id) for one in prepared.settings.candidates}
    if candidates.isdisjoint(asked):
        here_told = _listed(dict.fromkeys(sorted(candidates)))
        message = f"is of other candidates: {_listed(asked)} answered there, {here_told} is asked here"
        raise EvalError(_refused(path, message, NAME_ANOTHER))
    if tasks == 0:
        message = f"is of another benchmark: none of its {answers} answers is to a task of this"
        raise EvalError(_refused(path, message, NAME_ANOTHER))
    one = answers == 1
    message = (
        f"has {answers} answer{'' if one else 's'} on record, and {'it is not' if one else 'none is'} to a request as "
        f"this run makes it: {_told(differing)}"
    )
    fix = "set it back, or leave --resume-from (`resume_from`) out to ask all again"
    raise EvalError(_refused(path, message, fix))


def _differences(there: ChatRequest, here: ChatRequest) -> dict[str, str]:
    """How two requests of one name differ, by field, in order."""
    then, now = _fields(there), _fields(here)
    found = {}
    for name in dict.fromkeys((*now, *then)):
        before, after = then.get(name), now.get(name)
        if before != after:
            long = any(text is not None and text.startswith(("[", "{")) for text in (before, after))
            found[name] = name if long else f"{name} was {before or _ABSENT}, is {after or _ABSENT}"
    return found


def _fields(request: ChatRequest) -> dict[str, str]:
    """JSON of what people set, under the name by which they do."""
    values = {name: value for name, value in request.to_json().items() if name not in _NOT_SET}
    # The model stands in the body once more.
    body = {name: value for name, value in request.body.items() if name != "model"}
    named = {_NAMES.get(name, name): value for name, value in values.items()}
    named |= {_NAMES.get(name, f"inference.{name}"): value for name, value in body.items()}
    return {name: canonical_text(value) for name, value in named.items()}


def _told(differing: Mapping[str, Mapping[str, str]]) -> str:
    """What differs, a part for each candidate."""
    parts = [f"{alias}: {', '.join(fields.values())}" for alias, fields in differing.items() if fields]
    return "; ".join(parts) or "no conversation begins as one there"


def _first_requests(prepared: Prepared) -> Iterator[ChatRequest]:
    """Of every conversation that this run is going to begin."""
    settings, tasks = prepared.settings, recorded_tasks(prepared)
    for trial in range(settings.repeats.trials):
        for candidate in settings.candidates:
            seat = Seat(candidate=candidate, client=Nobody(), trial=trial)
            for task_id in prepared.plan.task_ids(candidate.alias):
                yield tasks.first_request(task_id, seat)


def _listed(candidates: dict[tuple[str, str], None]) -> str:
    told = [f"{alias} ({canonical_id})" for alias, canonical_id in candidates]
    return ", ".join(told[:_SHOWN]) + (f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else "")


def _refused(path: str, message: str, fix: str) -> Problem:
    return Problem(code=CLI_INVALID, path=path, field=RESUME_FROM, message=f"{RESUME_FROM} {message}", fix=fix)
