"""Which value does a call take from an earlier answer, or why is there none? Rule: pack.md §5.6.

The parent derives traces with it, an episode fills its calls: this module runs on both sides, standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Miss = Literal["call_did_not_finish", "error_result", "path_missing", "null_value", "not_a_scalar", "name_on_a_list"]
"""Why there is no value; drop reasons and breakdowns say the same word."""


class Picked(NamedTuple):
    """The value, or the miss and a sentence about it."""

    value: Any
    miss: Miss | None = None
    why: str = ""


def pick(answers: Sequence[Any], call: int, path: Sequence[str | int]) -> Picked:
    """The text, number or boolean at `path` of the answer of number `call`; `answers` are those given so far."""
    if not 0 <= call < len(answers):
        return Picked(None, "call_did_not_finish", f"call {call} has not run before it")
    value = answers[call]
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, dict):
        return Picked(None, "error_result", f"call {call} answered an error, `{error.get('code')}`")
    for depth, step in enumerate(path):
        if isinstance(value, list):
            if isinstance(step, str):
                why = f"{_shown(call, path[:depth])} is a list, which has no field `{step}`"
                return Picked(None, "name_on_a_list", why)
            if not 0 <= step < len(value):
                why = f"{_shown(call, path[:depth])} has {len(value)} elements, none at {step}"
                return Picked(None, "path_missing", why)
            value = value[step]
        elif isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        else:
            return Picked(None, "path_missing", f"{_shown(call, path[:depth])} has no `{step}`")
    if value is None:
        return Picked(None, "null_value", f"{_shown(call, path)} is null, {_EXPECTED}")
    if isinstance(value, (list, dict)):
        kind = "a list" if isinstance(value, list) else "an object"
        return Picked(None, "not_a_scalar", f"{_shown(call, path)} is {kind}, {_EXPECTED}")
    return Picked(value)


_EXPECTED = "expected text, number or boolean"


def _shown(call: int, path: Sequence[str | int]) -> str:
    return f"result of call {call}" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
