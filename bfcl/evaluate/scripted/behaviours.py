"""By which names can a candidate be had that answers in a certain way? The model name of a request chooses it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.digest import sha256_hex
from bfcl.errors import did_you_mean
from bfcl.evaluate.records import Script
from bfcl.evaluate.scripted import departures
from bfcl.evaluate.scripted.departures import Departure
from bfcl.evaluate.scripted.said import Play, gold_play

Transport: TypeAlias = Literal["plain", "unauthorized", "rate_limited", "unavailable", "slow_drip", "garbage"]
"""How a reply travels, or what comes in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One way to answer. Without a departure every answer is right."""

    summary: str
    departure: Departure | None = None
    transport: Transport = "plain"


def _stray(summary: str, departure: Departure) -> Behaviour:
    return Behaviour(summary=summary, departure=departure)


BEHAVIOURS: Final[Mapping[str, Behaviour]] = {
    "scripted-gold": Behaviour(summary="Every call and every word as expected."),
    "scripted-silent": _stray("Neither calls nor words.", departures.silent),
    "scripted-wrong-tool": _stray("Another declared tool in the place of the first call.", departures.wrong_tool),
    "scripted-undeclared-tool": _stray("A tool nobody declared, with the right arguments.", departures.undeclared_tool),
    "scripted-wrong-value": _stray("One argument with another value that its schema admits.", departures.wrong_value),
    "scripted-number-as-text": _stray("One number in quotes.", departures.number_as_text),
    "scripted-omitted-required-default": _stray(
        "A required argument left out because it has a default.", departures.omitted_required_default
    ),
    "scripted-explicit-default": _stray("Omitted defaults spelt out; still right.", departures.explicit_default),
    "scripted-unconstrained-value": _stray(
        "Another value where a default would do and none is asked for; still right.", departures.unconstrained_value
    ),
    "scripted-extra-call": _stray("The last call of the first group twice.", departures.extra_call),
    "scripted-missing-call": _stray("The first group without its last call.", departures.missing_call),
    "scripted-permuted": _stray("The calls of a group in another order; right where any will do.", departures.permuted),
    "scripted-split-group": _stray("A group of calls over two turns.", departures.split_group),
    "scripted-call-on-text-turn": _stray("A call where words are expected.", departures.call_on_text_turn),
    "scripted-blank-text": _stray("White space where words are expected.", departures.blank_text),
    "scripted-early-confirmation": _stray(
        "The call that the user was to confirm first, unasked.", departures.early_confirmation
    ),
    "scripted-duplicate-ids": _stray("One id for all calls of a group.", departures.duplicate_ids),
    "scripted-missing-ids": _stray("Calls without ids.", departures.missing_ids),
    "scripted-truncated": _stray("The right calls, said to be cut off.", departures.truncated),
    "scripted-invalid-json": _stray("Arguments that end too soon.", departures.invalid_json),
    "scripted-arguments-object": _stray("Arguments as an object, not as a text.", departures.arguments_object),
    "scripted-unauthorized": Behaviour(summary="HTTP 401, whatever the key.", transport="unauthorized"),
    "scripted-rate-limited": Behaviour(
        summary="HTTP 429 with Retry-After, then the right reply to the same request.", transport="rate_limited"
    ),
    "scripted-unavailable": Behaviour(summary="HTTP 503, always.", transport="unavailable"),
    "scripted-slow-drip": Behaviour(summary="The right reply, a byte at a time.", transport="slow_drip"),
    "scripted-garbage": Behaviour(summary="HTTP 200 and bytes that are no JSON.", transport="garbage"),
}
"""Name to behaviour, as lists show them."""

FLAKY: Final = "scripted-flaky-<p>"
FLAKY_SUMMARY: Final = (
    "Each task wrong with chance p (0 to 1), always the same ones; `scripted-flaky-<p>-<seed>` draws others."
)
_FLAKY: Final = re.compile(r"scripted-flaky-(0(?:\.[0-9]{1,9})?|1(?:\.0{1,9})?)(?:-([0-9]{1,9}))?")
_DRAWN: Final[tuple[Departure, ...]] = (
    departures.wrong_value,
    departures.missing_call,
    departures.wrong_tool,
    departures.blank_text,
)
"""What a flaky candidate gets wrong, one of these."""


class UnknownModel(LookupError):
    """No behaviour has this name; the text says which could be meant."""


def check_model(model: str) -> Behaviour:
    """The behaviour of a name, of a flaky one but for its draws. Raises: UnknownModel."""
    if _FLAKY.fullmatch(model):
        return Behaviour(summary=FLAKY_SUMMARY)
    known = BEHAVIOURS.get(model)
    if known is None:
        hint = did_you_mean(model, [*BEHAVIOURS, FLAKY])
        raise UnknownModel(f"no scripted candidate has this name; {hint or 'GET /v1/models lists them'}")
    return known


def departed(model: str, task_id: str, script: Script) -> Play | None:
    """The play of a model in one task, where it is another than the right one; else None. Raises: UnknownModel."""
    departure = check_model(model).departure
    flaky = _FLAKY.fullmatch(model)
    if flaky is not None:
        departure = _drawn(float(flaky.group(1)), int(flaky.group(2) or 0), task_id)
    return None if departure is None else departure(script)


def play(model: str, task_id: str, script: Script) -> Play:
    """Every reply of a model to one task. Raises: UnknownModel."""
    return departed(model, task_id, script) or gold_play(script)


def _drawn(share: float, seed: int, task_id: str) -> Departure | None:
    """What a task is drawn for. One draw a task and seed, so that a larger share holds the tasks of a smaller one."""
    draw = sha256_hex(f"{seed}:{task_id}".encode())
    if int(draw[:12], 16) >= share * 16**12:
        return None
    first = int(draw[12:16], 16) % len(_DRAWN)
    return lambda script: next(
        (found for one in (*_DRAWN[first:], *_DRAWN[:first]) if (found := one(script)) is not None),
        departures.silent(script),
    )
