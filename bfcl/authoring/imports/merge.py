"""How do several schemas become one: all of them at once (`allOf`), or any of them (`anyOf`, `oneOf`)?

Inputs are schemas of the supported subset without `$ref`; results are too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.pack.schema_keywords import TYPES, has_type

Schema: TypeAlias = dict[str, Json]

_ANNOTATIONS: Final = ("title", "description", "default", "examples", "$comment")
_APPLIES: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
    "object": frozenset({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}),
}
"""Keywords that say nothing about values of another type. `number` stands for both kinds of numbers."""

_LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def types_of(schema: Mapping[str, Json]) -> list[str]:
    """The declared types; without a declaration those of its `enum` or `const`, else none."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return [str(name) for name in declared]
    values = members(schema)
    if values is None:
        return []
    return list(dict.fromkeys(_type_of(value) for value in values))


def members(schema: Mapping[str, Json]) -> list[Json] | None:
    """The only values a schema admits: its `enum`, its `const` or null; None where it lists none."""
    if "const" in schema:
        return [schema["const"]]
    if schema.get("type") == "null":
        return [None]
    found = schema.get("enum")
    return list(found) if isinstance(found, list) else None


def _type_of(value: Json) -> str:
    order = ("null", "boolean", "integer", "number", "string", "array", "object")
    return next(name for name in order if has_type(value, name))


def type_value(names: Sequence[str]) -> Json:
    """One name alone, several as a list in the order given."""
    return names[0] if len(names) == 1 else list(names)


# --- all of them --------------------------------------------------------------------------------------------------


def intersect(own: Schema, parts: Sequence[Schema]) -> Schema:
    """One schema for `own` and every part; a part that contradicts what is there so far stays under `allOf`.

    Two property sets become one even where a part is closed (`opens` tells): nobody who writes that wants an object
    nothing fits.
    """
    merged, left = dict(own), []
    for part in parts:
        found = _both(merged, part)
        if found is None:
            left.append(part)
        else:
            merged = found
    if left:
        before = merged.get("allOf")
        merged["allOf"] = [*(before if isinstance(before, list) else []), *left]
    return merged


def opens(schemas: Sequence[Mapping[str, Json]]) -> bool:
    """Whether intersecting them lets a closed object have properties that it does not declare and another one does."""
    return any(_opens(one, other) for one in schemas for other in schemas if one is not other)


def _opens(closed: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    own, declared = closed.get("properties", {}), other.get("properties", {})
    if closed.get("additionalProperties", True) not in (True, {}) and not set(declared) <= set(own):
        return True
    shared = [(own[name], declared[name]) for name in own if name in declared]
    shared += [(closed[key], other[key]) for key in ("items", "additionalProperties") if _both_say(key, closed, other)]
    return any(_opens(one, another) for one, another in shared)


def _both_say(keyword: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return isinstance(one.get(keyword), Mapping) and isinstance(other.get(keyword), Mapping)


def _both(one: Schema, other: Schema) -> Schema | None:
    merged = dict(one)
    for keyword, value in other.items():
        if keyword not in merged:
            merged[keyword] = value
        elif canonical_text(merged[keyword]) != canonical_text(value):
            joined = _joined(keyword, merged[keyword], value)
            if joined is None:
                return None
            merged[keyword] = joined[0]
    return merged


def _joined(keyword: str, one: Any, other: Any) -> tuple[Json] | None:
    """What one keyword says when both its values hold, in a tuple of one; None where they contradict."""
    if keyword in _ANNOTATIONS:
        return (one,)
    if keyword in _LEAST:
        return (max(one, other),)
    if keyword in _MOST:
        return (min(one, other),)
    if keyword == "required":
        return (list(dict.fromkeys((*one, *other))),)
    if keyword == "properties":
        return ({**one, **{name: _each(one.get(name), child) for name, child in other.items()}},)
    if keyword == "allOf":
        return ([*one, *other],)
    if keyword == "uniqueItems":
        return (bool(one or other),)
    if keyword == "enum":
        kept = [value for value in one if any(canonical_text(value) == canonical_text(each) for each in other)]
        return (kept,) if kept else None
    if keyword == "type":
        names = _common_types(types_of({"type": one}), types_of({"type": other}))
        return (type_value(names),) if names else None
    if keyword == "additionalProperties":
        return _additional(one, other)
    if keyword == "items":
        return (_each(one, other),)
    return None


def _each(one: Schema | None, other: Schema) -> Schema:
    return other if one is None else intersect(one, [other])


def _common_types(one: Sequence[str], other: Sequence[str]) -> list[str]:
    names = [name for name in one if name in other or (name == "integer" and "number" in other)]
    return names + [name for name in other if name == "integer" and "number" in one and name not in names]


def _additional(one: Any, other: Any) -> tuple[Json] | None:
    if one is False or other is False:
        return (False,)
    if one is True:
        return (other,)
    return (one if other is True else _each(one, other),)


def disjoint(branches: Sequence[Mapping[str, Json]]) -> bool:
    """Whether it is plain, from types and listed values, that no value fits two of the branches."""
    return all(_apart(one, other) for index, one in enumerate(branches) for other in branches[:index])


def _apart(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    mine, yours = types_of(one), types_of(other)
    if mine and yours and not _common_types(mine, yours):
        return True
    listed, others = members(one), members(other)
    if listed is None or others is None:
        return False
    return not {canonical_text(value) for value in listed} & {canonical_text(value) for value in others}


# --- any of them --------------------------------------------------------------------------------------------------


class Widened(NamedTuple):
    """`exact`: the schema accepts just what the branches together accept, no more and no less.

    `narrowed`: it refuses some of that, since a property one branch describes is checked wherever it stands.
    """

    schema: Schema
    exact: bool
    narrowed: bool = False


def widen(branches: Sequence[Schema]) -> Widened:
    """One schema without `anyOf` for what at least one branch accepts.

    Branches of different types keep all they say, since a keyword speaks about one type only. Branches of one type
    keep what they share and the loosest of their bounds; of objects, every property, and as required those that each
    branch requires. A branch that is open accepts anything under a name that only another one describes; the joined
    schema does not, since that other meaning is the one its name has. Where a branch names no type nothing can be
    said: the empty schema.
    """
    distinct = list({canonical_text(_bare(branch)): branch for branch in branches}.values())
    if len(distinct) == 1:
        return Widened(dict(distinct[0]), exact=True)
    if not distinct or any(not types_of(branch) for branch in distinct):
        return Widened({}, exact=not distinct or any(not _bare(branch) for branch in distinct))
    listed = [members(branch) for branch in distinct]
    names = _ordered(name for branch in distinct for name in types_of(branch))
    if all(values is not None for values in listed):
        every = {canonical_text(value): value for values in listed for value in values or ()}
        exact = all(set(_bare(branch)) <= {"type", "enum", "const"} for branch in distinct)
        return Widened({"type": type_value(names), "enum": list(every.values())}, exact)
    # A list of values in one branch would bind the others too.
    exact = all(values is None or values == [None] for values in listed)
    exact = exact and not any("allOf" in branch for branch in distinct)
    schema: Schema = {"type": type_value(names)}
    narrowed = False
    for kind in ("string", "number", "array", "object"):
        speaking = [branch for branch in distinct if kind in map(_kind, types_of(branch))]
        exact = exact and len(speaking) <= 1
        one_kind = _one_kind(speaking, _APPLIES[kind])
        narrowed = narrowed or one_kind.narrowed
        schema |= one_kind.schema
    return Widened(schema, exact and not narrowed and not _mixes_numbers(distinct), narrowed)


def _bare(schema: Mapping[str, Json]) -> Schema:
    return {keyword: value for keyword, value in schema.items() if keyword not in _ANNOTATIONS}


def _kind(name: str) -> str:
    return "number" if name == "integer" else name


def _mixes_numbers(branches: Sequence[Schema]) -> bool:
    return sum(1 for branch in branches if {"integer", "number"} & set(types_of(branch))) > 1


def _ordered(names: Any) -> list[str]:
    """Distinct types in order of appearance, null last; `integer` gives way to `number`."""
    found = list(dict.fromkeys(names))
    if "number" in found:
        found = [name for name in found if name != "integer"]
    return sorted((name for name in found if name in TYPES), key=lambda name: name == "null")


def _one_kind(branches: Sequence[Schema], keywords: frozenset[str]) -> Widened:
    """What branches of one type say together, about that type alone."""
    said: list[dict[str, Any]] = [{key: branch[key] for key in branch if key in keywords} for branch in branches]
    if len(said) < 2:
        return Widened(said[0] if said else {}, exact=True)
    schema = {key: value for key in sorted(keywords - {"items", "properties"}) for value in _loosest(key, said)}
    properties = _property_union(said)
    if properties.schema:
        schema["properties"] = properties.schema
    narrowed = properties.narrowed
    if all("items" in each for each in said):
        items = widen([each["items"] for each in said])
        schema["items"] = items.schema
        narrowed = narrowed or items.narrowed
    return Widened(schema, exact=False, narrowed=narrowed)


def _loosest(keyword: str, said: Sequence[Schema]) -> Sequence[Json]:
    """The value of a keyword that admits what any of `said` admits, in a list of one; empty where it has to go."""
    values: list[Any] = [schema[keyword] for schema in said if keyword in schema]
    if len(values) < len(said):
        return []
    if keyword in _LEAST or keyword in _MOST:
        choose: Callable[[list[Any]], Any] = min if keyword in _LEAST else max
        return [choose(values)]
    if keyword == "required":
        common = [name for name in values[0] if all(name in each for each in values)]
        return [common] if common else []
    return [values[0]] if all(canonical_text(value) == canonical_text(values[0]) for value in values) else []


def _property_union(said: Sequence[Mapping[str, Any]]) -> Widened:
    """Every property that a branch describes. Narrowed where a branch that does not describe it is open."""
    groups: dict[str, list[Schema]] = {}
    for schema in said:
        for name, child in schema.get("properties", {}).items():
            groups.setdefault(name, []).append(child)
    properties: Schema = {}
    narrowed = False
    for name, children in groups.items():
        joined = widen(children)
        open_elsewhere = any(
            name not in schema.get("properties", {}) and schema.get("additionalProperties") is not False
            for schema in said
        )
        narrowed = narrowed or joined.narrowed or (open_elsewhere and bool(_bare(joined.schema)))
        properties[name] = _with_words(joined.schema, children)
    return Widened(properties, exact=False, narrowed=narrowed)


def _with_words(schema: Schema, children: Sequence[Schema]) -> Schema:
    """The schema with the first description that any of its sources carried."""
    words = next((child["description"] for child in children if "description" in child), None)
    return schema if words is None or "description" in schema else {**schema, "description": words}
