"""What does a gold call expect whose argument is to come from an earlier result? The live one, never the recorded one.

Rule: evaluation.md §7, pack.md §5.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bfcl.canonical import Json
from bfcl.evaluate.records import CallMatch, Execution, GoldCall, Resolution, ResolutionStatus
from bfcl.oracle.protocol import ResultPath
from bfcl.oracle.result_path import Miss, pick
from bfcl.stages.arguments import Checker

Links: TypeAlias = Mapping[int, Mapping[str, ResultPath]]
"""Gold call to parameter to where its value comes from: the number of another gold call, and a path."""

_MISSES: Mapping[Miss, ResolutionStatus] = {
    "call_did_not_finish": "result_unavailable",
    "error_result": "result_unavailable",
    "path_missing": "result_path_missing",
    "name_on_a_list": "result_path_missing",
    "null_value": "result_path_missing",
    "not_a_scalar": "result_path_missing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A candidate's call that claims a gold call in full. `result` is None where it has no live result."""

    gold_index: int
    result: str | None


def paired(matches: Sequence[CallMatch], executions: Sequence[Execution]) -> tuple[Paired, ...]:
    """The full claims of one reply, with what they were answered; both arguments are parallel to its calls."""
    return tuple(
        Paired(gold_index=match.gold_index, result=execution.result)
        for match, execution in zip(matches, executions, strict=True)
        if match.full and match.gold_index is not None
    )


def resolve(
    gold: GoldCall, links: Mapping[str, ResultPath], claims: Sequence[Paired], schema: Checker | None
) -> tuple[GoldCall, tuple[Resolution, ...]]:
    """A gold call as live results have it, and what became of each of its dependent arguments, by name.

    `schema` checks the arguments of its tool, as the row declares them. An argument that did not resolve is left out:
    the value recorded with the row is no substitute.
    """
    found = [_found(gold, parameter, links[parameter], claims) for parameter in sorted(links)]
    arguments: dict[str, Json] = {name: value for name, value in gold.arguments.items() if name not in links}
    arguments.update((one.parameter, one.value) for one in found if one.status == "resolved")
    filled = {name: arguments[name] for name in gold.arguments if name in arguments}
    whole = all(one.status == "resolved" for one in found)
    if whole and schema is not None and schema(filled):
        found = [replace(one, status="consumer_schema_invalid") for one in found]
    return replace(gold, arguments=filled), tuple(found)


def _found(gold: GoldCall, parameter: str, link: ResultPath, claims: Sequence[Paired]) -> Resolution:
    status, value = _value(gold.arguments.get(parameter), link, [one for one in claims if one.gold_index == link.call])
    return Resolution(
        gold_index=gold.index,
        parameter=parameter,
        producer_index=link.call,
        path=link.path,
        status=status,
        value=value,
    )


def _value(recorded: Json, link: ResultPath, producers: Sequence[Paired]) -> tuple[ResolutionStatus, Json]:
    if not producers:
        return "producer_missing", None
    if len(producers) > 1:
        return "producer_ambiguous", None
    result = producers[0].result
    if result is None:
        return "result_unavailable", None
    picked = pick([json.loads(result)], 0, link.path)
    if picked.miss is not None:
        return _MISSES[picked.miss], None
    value: Json = picked.value
    return ("resolved", value) if _kind(value) == _kind(recorded) else ("result_type_mismatch", None)


def _kind(value: Json) -> str:
    """Of a scalar; whether a number may have a fraction is the schema's to say."""
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "number" if isinstance(value, int | float) else "other"
