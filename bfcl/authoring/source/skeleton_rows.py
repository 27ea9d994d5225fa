"""Which placeholder rows does a fresh source package start from? Rule: authoring.md §5.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bfcl.authoring.source.catalog import properties_of
from bfcl.canonical import Json
from bfcl.pack.json_pointer import pointer_parts
from bfcl.records.tool import Tool

PLACEHOLDER: Final = "BFCL-TODO-replace"

_MAX_DEPTH: Final = 8


def skeleton_rows(tools: Sequence[Tool], *, without: str, count: int) -> list[Json]:
    """`count` rows that hold every parameter of every tool except `without`.

    A parameter of several tools takes its shape from the first of them.
    """
    fields: dict[str, tuple[Json, Mapping[str, Json]]] = {}
    for tool in tools:
        for name, schema in properties_of(tool).items():
            if name != without:
                fields.setdefault(name, (schema, tool.parameters or {}))
    return [
        {name: _value(fields[name][0], fields[name][1], number, 0) for name in sorted(fields)}
        for number in range(1, count + 1)
    ]


def _value(schema: Json, root: Mapping[str, Json], number: int, depth: int) -> Json:
    """A value of a parameter's type for row `number`, 1-based. Text holds the review marker."""
    text = f"{PLACEHOLDER}-{number}"
    if depth > _MAX_DEPTH or not isinstance(schema, Mapping):
        return text
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _value(_target(reference, root), root, number, depth + 1)
    if "const" in schema:
        return schema["const"]
    enum = schema.get("enum")
    if isinstance(enum, list) and enum:
        chosen: Json = enum[(number - 1) % len(enum)]
        return chosen
    kind = _kind(schema)
    if kind == "array":
        return [_value(schema.get("items"), root, number, depth + 1)]
    if kind == "object":
        properties = schema.get("properties")
        fields = properties if isinstance(properties, Mapping) and properties else {"value": None}
        return {name: _value(fields[name], root, number, depth + 1) for name in sorted(fields)}
    plain: dict[str, Json] = {
        "integer": number,
        "number": float(number),
        "boolean": number % 2 == 1,
        "null": None,
    }
    return plain.get(kind, text)


def _kind(schema: Mapping[str, Json]) -> str:
    """The schema's type; of several the first that is not null; where none is declared, what its keywords imply."""
    declared = schema.get("type")
    if isinstance(declared, list):
        declared = next((kind for kind in declared if kind != "null"), "null")
    if isinstance(declared, str):
        return declared
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _target(reference: str, root: Mapping[str, Json]) -> Json:
    """The schema a local reference leads to, or None."""
    value: Json = root
    for part in pointer_parts(reference.removeprefix("#")):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value
