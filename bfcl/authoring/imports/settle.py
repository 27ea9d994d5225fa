"""Which parts of a schema does the supported subset refuse, and what is left without them? Rule: pack.md §3."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from bfcl.canonical import Json
from bfcl.pack.json_pointer import pointer_parts
from bfcl.pack.schema_keywords import SchemaDefect
from bfcl.pack.schema_subset import schema_problems

_WRAPPED = "/properties/it"


def settle(schema: dict[str, Json], *, inside_settled: bool = False) -> tuple[dict[str, Json], list[SchemaDefect]]:
    """The schema without what `schema_problems` refuses, and the defects that led to each removal, in order.

    A defect takes the keyword or the list member it names, nothing more; the result has no defect left.
    `inside_settled`: the schemas below are known to be sound, so only the keywords here are looked at.
    """
    # A walk of everything below at every level would cost a large tool its size times its depth.
    if inside_settled and "default" not in schema and not schema_problems({"properties": {"it": _outside(schema)}}):
        return schema, []
    inner: Any = copy.deepcopy(schema)
    # As a property, since only the root of the parameters has to be an object.
    wrapped = {"properties": {"it": inner}}
    removed = []
    while defects := schema_problems(wrapped):
        first = defects[0]
        pointer = first.pointer.removeprefix(_WRAPPED)
        _remove(inner, pointer_parts(pointer))
        removed.append(first._replace(pointer=pointer))
    return inner, removed


def _outside(schema: dict[str, Json]) -> dict[str, Json]:
    """The keywords of a schema with every schema below replaced by the empty one."""
    outside = dict(schema)
    properties, parts = schema.get("properties"), schema.get("allOf")
    if isinstance(properties, Mapping):
        outside["properties"] = {name: {} for name in properties}
    if isinstance(parts, list):
        outside["allOf"] = [{} for _ in parts]
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            outside[keyword] = {}
    return outside


def _remove(value: Any, parts: list[str]) -> None:
    for part in parts[:-1]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    del value[int(parts[-1]) if isinstance(value, list) else parts[-1]]
