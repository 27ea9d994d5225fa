"""Which JSON Schema describes the records that a TypedDict defines? Rule: generation.md §7, `dataset.schema.json`."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, Final

from bfcl.canonical import Json

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_SCALARS: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
}


def record_schema(record: type, title: str) -> dict[str, Json]:
    """The schema of a TypedDict: its keys and no others, those that are NotRequired left optional.

    Members may be str, int, float, bool, None, `X | None`, `list[X]`, Literal of texts, TypedDicts, `dict[str, Any]`
    for any object and Any for any value. Raises TypeError for anything else.
    """
    return {"$schema": DIALECT, "title": title, **_object(record)}


def _object(record: type) -> dict[str, Json]:
    # Not `__required_keys__`: of annotations that are kept as text it knows no NotRequired.
    hints = typing.get_type_hints(record, include_extras=True)
    optional = {name for name, hint in hints.items() if typing.get_origin(hint) is typing.NotRequired}
    members = {name: typing.get_args(hint)[0] if name in optional else hint for name, hint in hints.items()}
    return {
        "type": "object",
        "properties": {name: _schema(hint) for name, hint in members.items()},
        "required": sorted(members.keys() - optional),
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Json]:
    if hint is Any:
        return {}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if typing.is_typeddict(hint):
        return _object(hint)
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        return {"type": "array", "items": _schema(members[0])}
    if origin is dict and members == (str, Any):
        return {"type": "object"}
    if origin is typing.Literal and all(isinstance(each, str) for each in members):
        return {"type": "string", "enum": list(members)}
    if origin is types.UnionType or origin is typing.Union:
        return {"anyOf": [_schema(each) for each in members]}
    raise TypeError(f"no JSON Schema for {hint}")
