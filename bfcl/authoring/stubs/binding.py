"""Where could the values of a tool's parameter come from, in this pack? Rule: pack.md §5.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bfcl.canonical import Json, canonical_text
from bfcl.errors import BfclError
from bfcl.pack.fixtures import collection_rows, primary_key
from bfcl.pack.model import Pack
from bfcl.records.tool import Tool
from bfcl.stages.arguments import required_parameters

_SPAN = 4
_SHOWN_VALUES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A required parameter: a slot with `source`, or, where no slot can hold its type, the `literal` argument.

    `collection` is set where the source is the primary key of that collection. `examples` are values it binds.
    """

    parameter: str
    source: str | None
    literal: Json = None
    collection: str | None = None
    examples: tuple[Json, ...] = ()


def bindings(pack: Pack, tool: Tool) -> tuple[Binding, ...]:
    """One binding for each required parameter but the confirmation, in the schema's order."""
    confirmation = pack.manifest.confirmation.parameter
    schema = tool.parameters or {}
    declared = schema.get("properties")
    properties = declared if isinstance(declared, Mapping) else {}
    return tuple(
        _binding(pack, tool, name, properties.get(name)) for name in required_parameters(schema) if name != confirmation
    )


def _binding(pack: Pack, tool: Tool, name: str, schema: Json) -> Binding:
    known: Mapping[str, Json] = schema if isinstance(schema, Mapping) else {}
    enum = known.get("enum")
    if isinstance(enum, list) and enum and all(isinstance(one, str | int | float) for one in enum):
        return Binding(parameter=name, source=f"enum:{tool.name}.{name}", examples=tuple(enum))
    for collection, field, values in _columns(pack, name):
        source = f"fixture:{collection}.{field}"
        return Binding(parameter=name, source=source, collection=_keyed(pack, collection, field), examples=values)
    return _by_type(name, known)


def _by_type(name: str, schema: Mapping[str, Json]) -> Binding:
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "string")
    if kind == "integer":
        low = _whole(schema.get("minimum"), 1)
        high = _whole(schema.get("maximum"), low + _SPAN)
        return Binding(parameter=name, source=f"range:{{min: {low}, max: {high}}}", examples=(low, high))
    if kind == "number":
        low_number = schema.get("minimum")
        first = float(low_number) if isinstance(low_number, int | float) else 1.0
        values: tuple[Json, ...] = (first, first + 0.5)
        return Binding(parameter=name, source=f"literal:{canonical_text(values)}", examples=values)
    if kind == "boolean":
        return Binding(parameter=name, source=None, literal=True, examples=(True,))
    if kind == "array":
        return Binding(parameter=name, source=None, literal=[], examples=([],))
    if kind == "object":
        return Binding(parameter=name, source=None, literal={}, examples=({},))
    words: tuple[Json, ...] = (f"{name} one", f"{name} two")
    return Binding(parameter=name, source=f"literal:{canonical_text(words)}", examples=words)


def _whole(value: Json, otherwise: int) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _columns(pack: Pack, name: str) -> Iterator[tuple[str, str, tuple[Json, ...]]]:
    """Collections with a field of that name in every row, those it identifies first."""
    found: list[tuple[bool, str, str, tuple[Json, ...]]] = []
    for collection in pack.fixtures:
        rows = _free_rows(pack, collection)
        if not rows or not all(isinstance(row.get(name), str | int | float) for row in rows):
            continue
        values = tuple(dict.fromkeys(row[name] for row in rows))[:_SHOWN_VALUES]
        found.append((_keyed(pack, collection, name) is None, collection, name, values))
    # Stable: among equals the order of fixtures.json.
    for _, collection, field, values in sorted(found, key=lambda one: one[0]):
        yield collection, field, values


def _free_rows(pack: Pack, collection: str) -> Sequence[Mapping[str, Json]]:
    """The rows of a collection that the held-out policy does not reserve: what a published task may bind."""
    rows = collection_rows(pack.fixtures, collection) or ()
    reserved = () if pack.held_out is None else pack.held_out.fixtures.get(collection, ())
    if not reserved:
        return rows
    key = primary_key(collection, rows, pack.manifest)
    return [row for row in rows if row[key] not in reserved]


def _keyed(pack: Pack, collection: str, field: str) -> str | None:
    rows = collection_rows(pack.fixtures, collection)
    try:
        key = None if rows is None else primary_key(collection, rows, pack.manifest)
    except BfclError:
        return None
    return collection if key == field else None
