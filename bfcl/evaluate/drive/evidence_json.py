"""How is the evidence of an episode written as JSON, and read back without a loss? Rule: evaluation.md §11."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar, get_args

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
    ResolutionStatus,
    TurnEvidence,
)
from bfcl.modelio.exchange import ArgumentsStatus, CallStatus, ChatResponse, ToolCall
from bfcl.modelio.spliced import spliced

T = TypeVar("T")
Reader: TypeAlias = Callable[[Json], Any]

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
_ANYTHING: Final = "Json"
_WORDS: Final[Mapping[tuple[type, str], tuple[str, ...]]] = {
    (EpisodeEvidence, "status"): get_args(EpisodeStatus),
    (EpisodeEvidence, "mode"): ("trace", "executable"),
    (TurnEvidence, "call_status"): get_args(CallStatus),
    (ToolCall, "arguments_status"): get_args(ArgumentsStatus),
    (Execution, "status"): get_args(ExecutionStatus),
    (Execution, "commit"): get_args(CommitState),
    (AssertionEvidence, "verdict"): ("passed", "failed", "not_applicable", "infrastructure_error"),
    (Resolution, "status"): get_args(ResolutionStatus),
}


class UnreadableEvidenceError(ValueError):
    """JSON that is no evidence; says where."""


def evidence_json(evidence: EpisodeEvidence) -> dict[str, Json]:
    """The whole episode; objects have the names of the records' fields, all of them."""
    return {name: _written(getattr(evidence, name)) for name in _names_of(EpisodeEvidence)}


def evidence_text(evidence: EpisodeEvidence) -> bytes:
    """Canonical JSON of `evidence_json`. A state is large and most episodes end in one of a few: it is quoted once."""
    rest = evidence_json(evidence)
    state = rest.pop("final_state")
    parts = {name: canonical_json(value) for name, value in rest.items()}
    return spliced({**parts, "final_state": _quoted(state)})


_quoted = functools.lru_cache(maxsize=8)(canonical_json)


def _written(value: Any) -> Json:
    names = _names_of(value.__class__)
    if names:
        return {name: _written(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    plain: Json = value
    return plain


@functools.cache
def _names_of(kind: type) -> tuple[str, ...]:
    """The fields of a record; none of anything else."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


def reader_of(kind: type[T], **parts: Reader) -> Callable[[Json], T]:
    """Reads a record of its JSON object: `parts` read the fields that are more than one plain value.

    Raises: LookupError for a field of which nothing says what it may hold; the reader UnreadableEvidenceError.
    """
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    readers = {
        field.name: parts[field.name] if field.name in parts else _plain(kind, field.name, str(field.type))
        for field in fields
    }

    def read(value: Json) -> T:
        if not isinstance(value, dict):
            raise UnreadableEvidenceError(f"{kind.__name__} is no object")
        if value.keys() != readers.keys():
            raise UnreadableEvidenceError(f"{kind.__name__} has other fields than {', '.join(readers)}")
        return kind(**{name: reader(value[name]) for name, reader in readers.items()})

    return read


def _plain(kind: type, name: str, written: str) -> Reader:
    """Raises: LookupError."""
    words, types = _WORDS.get((kind, name), ()), _SCALARS.get(written, ())
    if written == _ANYTHING:
        return lambda value: value
    if not words and not types:
        raise LookupError(f"nothing says what {kind.__name__}.{name} may hold, a {written}")

    def read(value: Json) -> Json:
        if type(value) not in types and value not in words:
            raise UnreadableEvidenceError(f"{kind.__name__}.{name} is of another type or none of its words")
        return value

    return read


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
_resolution: Final = reader_of(Resolution, path=_several(_step))
_response: Final = reader_of(ChatResponse, tool_calls=_several(reader_of(ToolCall)))
_match: Final = reader_of(CallMatch, schema_reasons=_names, missing=_names, unexpected=_names, differing=_names)
_turn: Final = reader_of(
    TurnEvidence,
    response=_optional(_response),
    gold=_several(reader_of(GoldCall)),
    matches=_several(_match),
    executions=_several(reader_of(Execution)),
    resolutions=_several(_resolution),
)
_episode: Final = reader_of(
    EpisodeEvidence,
    turns=_several(_turn),
    assertions=_optional(_several(reader_of(AssertionEvidence))),
    declared_assertions=_names,
    unresolved=_several(_resolution),
)


def read_evidence(value: Json) -> EpisodeEvidence:
    """The evidence that `evidence_json` wrote. Raises: UnreadableEvidenceError."""
    evidence = _episode(value)
    if evidence_text(evidence) != canonical_json(value):
        raise UnreadableEvidenceError("does not read back as it is written")
    return evidence
