"""What stood where a dependent argument was to be taken from, and what should stand there? Rule: pack.md §5.6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.errors import did_you_mean
from bfcl.oracle.protocol import Breakdown, ResultPath
from bfcl.oracle.result_path import Miss
from bfcl.stages.divergence import shortened

_KEYS_SHOWN = 8
_SCALAR = "text, a number or a boolean"
_NARROW = "correct the path, or narrow the slot filters to rows that have a result"


class Unresolved(NamedTuple):
    """The first dependent argument of a task that no earlier answer fills."""

    call: int
    """Number of the call that has the argument."""
    parameter: str
    source: ResultPath
    miss: Miss
    answer: Json
    """What the earlier call answered; None where it never did."""
    breakdown: Breakdown | None
    """What broke the episode, where that is why."""


class Explained(NamedTuple):
    """What was seen and expected, and how to mend it."""

    message: str
    fix: str


def explained(unresolved: Unresolved, producer: str) -> Explained:
    """In the words of the template: `producer` is the milestone id of the earlier call."""
    source, answer = unresolved.source, unresolved.answer
    path = dotted(source.path)
    if unresolved.miss == "call_did_not_finish":
        return Explained(f"`{path}`: `{producer}` gave no answer", f"let `{producer}` answer")
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if unresolved.miss == "error_result":
        code = error.get("code") if isinstance(error, Mapping) else None
        message = f"`{path}`: `{producer}` answered the error {shortened(code)}; expected an answer to take it from"
        return Explained(message, f"narrow the slot filters to rows for which `{producer}` has an answer")
    depth, found = _reached(answer, source.path)
    stood = f"`{path}`: the answer of `{producer}` {'holds' if depth else 'is'} {_kind(found)}"
    stood += f" at `{dotted(source.path[:depth])}`" if depth else ""
    if depth == len(source.path):
        return Explained(f"{stood}; expected {_SCALAR}", _NARROW)
    return _next(stood, found, source.path[depth], source.path[:depth])


def _next(stood: str, found: Json, step: str | int, way: Sequence[str | int]) -> Explained:
    """The path goes on with `step` from what was found at the end of `way`."""
    if isinstance(found, list | tuple):
        if isinstance(step, str):
            return Explained(f"{stood}; expected an index", f"write `{dotted((*way, 0))}`, or another index, there")
        return Explained(f"{stood}; expected an element at {step}", _NARROW)
    if isinstance(found, Mapping):
        close = did_you_mean(str(step), found)
        return Explained(f"{stood}; expected the key `{step}`", close or _NARROW)
    return Explained(f"{stood}; expected an object with the key `{step}`", _NARROW)


def dotted(path: Sequence[str | int]) -> str:
    """A path as authors write it."""
    return ".".join(map(str, path))


def _reached(answer: Json, path: Sequence[str | int]) -> tuple[int, Json]:
    """How many steps of the path lead somewhere, and what stands there; as `result_path.pick` walks."""
    found = answer
    for depth, step in enumerate(path):
        if isinstance(found, list | tuple) and isinstance(step, int) and step < len(found):
            found = found[step]
        elif isinstance(found, Mapping) and str(step) in found:
            found = found[str(step)]
        else:
            return depth, found
    return len(path), found


def _kind(value: Json) -> str:
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    if not isinstance(value, Mapping):
        return shortened(value)
    if not value:
        return "an empty object"
    keys = sorted(value)
    more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
    return "an object with " + ", ".join(f"`{key}`" for key in keys[:_KEYS_SHOWN]) + more
