"""How is the evidence of an episode written as JSON, and read back without a loss? Rule: evaluation.md §11."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, get_args

from bfcl.canonical import Json, canonical_json
from bfcl.evaluate.records import (
    AssertionEvidence,
    CallMatch,
    CommitState,
    EpisodeEvidence,
    EpisodeStatus,
    Execution,
    ExecutionStatus,
    GoldCall,
    Resolution,
    TurnEvidence,
)
from bfcl.modelio.exchange import ArgumentsStatus, CallStatus, ChatResponse, ToolCall

T = TypeVar("T")

_NONE: Final = type(None)
_SCALARS: Final[Mapping[str, tuple[type, ...]]] = {
    "str": (str,),
    "Digest": (str,),
    "int": (int,),
    "bool": (bool,),
    "str | None": (str, _NONE),
    "int | None": (int, _NONE),
    "bool | None": (bool, _NONE),
    "Mapping[str, Json]": (dict,),
    "Mapping[str, Json] | None": (dict, _NONE),
}
"""What a field of a record may hold, by how its type is written."""
_WORDS: Final[Mapping[tuple[type, str], tuple[str, ...]]] = {
    (EpisodeEvidence, "status"): get_args(EpisodeStatus),
    (EpisodeEvidence, "mode"): ("trace", "executable"),
    (TurnEvidence, "call_status"): get_args(CallStatus),
    (ToolCall, "arguments_status"): get_args(ArgumentsStatus),
    (Execution, "status"): get_args(ExecutionStatus),
    (Execution, "commit"): get_args(CommitState),
    (AssertionEvidence, "verdict"): ("passed", "failed", "not_applicable", "infrastructure_error"),
    (Resolution, "status"): (
        "resolved",
        "producer_missing",
        "producer_ambiguous",
        "result_unavailable",
        "result_path_missing",
        "result_type_mismatch",
        "consumer_schema_invalid",
    ),
}


class UnreadableEvidenceError(ValueError):
    """JSON that is no evidence; says where."""


def evidence_json(evidence: EpisodeEvidence) -> dict[str, Json]:
    """The whole episode; objects have the names of the records' fields, all of them."""
    return {field.name: _written(getattr(evidence, field.name)) for field in dataclasses.fields(evidence)}


def read_evidence(value: Json) -> EpisodeEvidence:
    """The evidence that `evidence_json` wrote. Raises: UnreadableEvidenceError."""
    evidence = _record(
        EpisodeEvidence,
        value,
        turns=_several(_turn),
        assertions=_optional(_several(_plain(AssertionEvidence))),
        declared_assertions=_names,
        unresolved=_several(_resolution),
    )
    if canonical_json(evidence_json(evidence)) != canonical_json(value):
        raise UnreadableEvidenceError("does not read back as it is written")
    return evidence


def _written(value: Any) -> Json:
    if dataclasses.is_dataclass(value):
        return {field.name: _written(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    plain: Json = value
    return plain


def _record(kind: type[T], value: Json, **parts: Callable[[Json], Any]) -> T:
    """A record of its JSON object: `parts` read the fields that are more than one plain value."""
    if not isinstance(value, dict):
        raise UnreadableEvidenceError(f"{kind.__name__} is no object")
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    if value.keys() != {field.name for field in fields}:
        raise UnreadableEvidenceError(
            f"{kind.__name__} has other fields than {', '.join(each.name for each in fields)}"
        )
    read: dict[str, Any] = {}
    for field in fields:
        given = value[field.name]
        allowed, words = _SCALARS.get(str(field.type)), _WORDS.get((kind, field.name))
        if (allowed is not None and type(given) not in allowed) or (words is not None and given not in words):
            raise UnreadableEvidenceError(f"{kind.__name__}.{field.name} is of another type or none of its words")
        read[field.name] = parts[field.name](given) if field.name in parts else given
    return kind(**read)


def _plain(kind: type[T]) -> Callable[[Json], T]:
    return lambda value: _record(kind, value)


def _several(one: Callable[[Json], T]) -> Callable[[Json], tuple[T, ...]]:
    def read(value: Json) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise UnreadableEvidenceError("holds something else where a list belongs")
        return tuple(one(each) for each in value)

    return read


def _optional(one: Callable[[Json], T]) -> Callable[[Json], T | None]:
    return lambda value: None if value is None else one(value)


def _name(value: Json) -> str:
    if not isinstance(value, str):
        raise UnreadableEvidenceError("holds something else where a text belongs")
    return value


def _step(value: Json) -> str | int:
    if isinstance(value, str) or type(value) is int:
        return value
    raise UnreadableEvidenceError("holds something else where a step of a path belongs")


_names: Final = _several(_name)


def _turn(value: Json) -> TurnEvidence:
    return _record(
        TurnEvidence,
        value,
        response=_optional(_response),
        gold=_several(_plain(GoldCall)),
        matches=_several(_match),
        executions=_several(_plain(Execution)),
        resolutions=_several(_resolution),
    )


def _match(value: Json) -> CallMatch:
    return _record(CallMatch, value, schema_reasons=_names, missing=_names, unexpected=_names, differing=_names)


def _resolution(value: Json) -> Resolution:
    return _record(Resolution, value, path=_several(_step))


def _response(value: Json) -> ChatResponse:
    return _record(ChatResponse, value, tool_calls=_several(_plain(ToolCall)))
