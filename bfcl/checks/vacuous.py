"""Would a candidate that never does the work pass a template's assertions? Rule: spec README, ruling 14."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from bfcl.canonical import Json
from bfcl.oracle.protocol import Episode, EpisodeResult, PlannedCall
from bfcl.pack.model import Confirmation
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding

IDLE: Final = "does nothing"
HELD_BACK: Final = "calls everything but changes nothing"
UNTOUCHED: Final = "expected calls change nothing"


class Trial(NamedTuple):
    """The calls of a candidate that leaves the work undone; `what` completes "a candidate that ..."."""

    what: str
    calls: tuple[PlannedCall, ...]


Tried: TypeAlias = tuple[Trial, EpisodeResult]


def trials(expected: Episode, tools: Mapping[str, Tool], confirmation: Confirmation) -> list[Trial]:
    """The undone versions of a task's calls; none where no call is expected.

    First the one without calls. Where the task would change state, a second one makes the same calls but none that
    takes effect: gated ones unconfirmed, other mutating ones left out. Both end on the untouched reset state; the
    second shows whether assertions look at the state at all, and not only at which calls were made.
    """
    if not expected.calls:
        return []
    held_back = _without_effect(expected.calls, tools, confirmation)
    if not held_back or held_back == expected.calls:
        return [Trial(IDLE, ())]
    return [Trial(IDLE, ()), Trial(HELD_BACK, held_back)]


def _without_effect(
    calls: Sequence[PlannedCall], tools: Mapping[str, Tool], confirmation: Confirmation
) -> tuple[PlannedCall, ...]:
    """The calls that leave the state alone, in order."""
    unconfirmed: dict[str, Json] = {confirmation.parameter: False}
    kept = []
    for call in calls:
        if tools[call.tool].requires_confirmation:
            kept.append(dataclasses.replace(call, arguments={**call.arguments, **unconfirmed}))
        elif not tools[call.tool].mutates:
            kept.append(call)
    return tuple(kept)


def vacuous(tried: Sequence[Tried], expected: EpisodeResult, *, claims_mutation: bool) -> Finding | None:
    """`vacuous_assertions` where every assertion passes although the work is undone; the plainest case only.

    `expected` is the episode of the expected calls. Holding back is undone work only where those calls change the
    state: a call that ought to be refused may well be refused unconfirmed. `claims_mutation` says that the template
    means to change the state: where its expected calls leave it untouched, passing proves nothing either.
    """
    untouched = untouched_state(tried)
    if untouched is None:
        return None
    changes = expected.states[-1:] != (untouched,)
    for trial, result in tried:
        if _passes(result) and result.states[-1] == untouched and (changes or trial.what == IDLE):
            return _finding(f"a candidate that {trial.what} passes", result, trial.what)
    if claims_mutation and not changes and _passes(expected):
        who = "expected calls that leave the state as reset made it pass"
        fix = "let the expected calls change the state, or remove `mutates: true`"
        return dataclasses.replace(_finding(who, expected, UNTOUCHED), fix=fix)
    return None


def untouched_state(tried: Sequence[Tried]) -> str | None:
    """The state after reset, as the candidate that does nothing leaves it."""
    return next((result.states[-1] for trial, result in tried if trial.what == IDLE and result.states), None)


def _passes(result: EpisodeResult) -> bool:
    return result.breakdown is None and bool(result.assertions) and all(one.passed for one in result.assertions)


def _finding(who_passes: str, result: EpisodeResult, detail: str) -> Finding:
    names = ", ".join(f"`{one.name}`" for one in result.assertions)
    return Finding(
        code="vacuous_assertions",
        message=f"{who_passes} {names}; expected at least one to fail",
        detail=detail,
        fix="assert what the conversation must bring about: the calls with their results, and the changed state",
    )


def fragile(tried: Sequence[Tried]) -> dict[str, Finding]:
    """By name, a warning for each assertion that breaks instead of failing: at scoring that is the pack's fault."""
    found: dict[str, Finding] = {}
    for trial, result in tried:
        for one in result.assertions:
            if one.status == "error" and one.name not in found:
                found[one.name] = Finding(
                    code="fragile_assertion",
                    message=f"`{one.name}` breaks for a candidate that {trial.what}: {one.detail}; expected it to fail",
                    detail=one.name,
                    fix="test for a missing call or field before reading from it",
                )
    return found
