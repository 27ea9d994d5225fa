"""Which other arguments would a tool's schema admit? What a wrong call is made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.stages.arguments import checker

_UNLIKELY: Final = "x"


def other_arguments(
    schema: Mapping[str, Json],
    arguments: Mapping[str, Json],
    *,
    avoid: Collection[str] = (),
    only: str | None = None,
) -> dict[str, Json] | None:
    """The arguments with one value changed so that the schema still holds; None where no change was found.

    `avoid` holds canonical texts of arguments that would be right elsewhere, `only` names the one that may change.
    Truth values change last: one of them may be the word that confirms.
    """
    failures = checker(schema)
    names = arguments if only is None else (only,)
    for name in sorted(names, key=lambda name: isinstance(arguments[name], bool)):
        for value in _others(arguments[name], _property(schema, name)):
            changed = {**arguments, name: value}
            if canonical_text(changed) not in avoid and not failures(changed):
                return changed
    return None


def plausible_arguments(schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """Some arguments that the schema admits, its required ones alone; None where none were found."""
    some = _object(schema)
    return None if checker(schema)(some) else some


def declared_defaults(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Default by parameter, as far as the schema itself spells them out."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: one["default"] for name, one in properties.items() if isinstance(one, Mapping) and "default" in one}


def required_names(schema: Mapping[str, Json]) -> list[str]:
    """Parameters that the schema itself requires, as listed."""
    listed = schema.get("required")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list | tuple) else []


def _property(schema: Json, name: str) -> Json:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties.get(name) if isinstance(properties, Mapping) else None


def _others(value: Json, schema: Json) -> Iterator[Json]:
    """Values of the same type unlike this one, likelier ones first."""
    listed = schema.get("enum") if isinstance(schema, Mapping) else None
    if isinstance(listed, list | tuple):
        yield from (one for one in listed if canonical_text(one) != canonical_text(value))
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from (value + 1, value - 1, value * 2, value + 10)
        case str():
            yield from _other_texts(value)
        case list() | tuple():
            items = schema.get("items") if isinstance(schema, Mapping) else None
            for place, item in enumerate(value):
                yield from ([*value[:place], one, *value[place + 1 :]] for one in _others(item, items))
            yield from ([*value[:-1]], [*value, *value[-1:]])
        case Mapping():
            for name, member in value.items():
                yield from ({**value, name: one} for one in _others(member, _property(schema, name)))


def _other_texts(text: str) -> Iterator[str]:
    # Most forms that a pattern asks for are digits and letters of a fixed number: a neighbour keeps to it.
    for place in reversed(range(len(text))):
        if text[place].isascii() and text[place].isalnum():
            yield text[:place] + _neighbour(text[place]) + text[place + 1 :]
            break
    yield text + text[-1:] if text else _UNLIKELY
    yield text + _UNLIKELY


def _neighbour(character: str) -> str:
    for last, first in (("9", "0"), ("z", "a"), ("Z", "A")):
        if character == last:
            return first
    return chr(ord(character) + 1)


def _object(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {name: _some(_property(schema, name)) for name in required_names(schema)}


def _some(schema: Json) -> Json:
    """A value that most likely satisfies the schema of a parameter."""
    if not isinstance(schema, Mapping):
        return _UNLIKELY
    for stated in ("const", "default"):
        if stated in schema:
            return schema[stated]
    listed = schema.get("enum")
    if isinstance(listed, list | tuple) and listed:
        first: Json = listed[0]
        return first
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list | tuple) and kind else kind:
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return False
        case "array":
            return [_some(schema.get("items"))] * _size(schema, "minItems")
        case "object":
            return _object(schema)
        case "null":
            return None
        case _:
            return _UNLIKELY * max(1, _size(schema, "minLength"))


def _number(schema: Mapping[str, Json]) -> Json:
    for bound, step in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0), ("exclusiveMaximum", -1)):
        limit = schema.get(bound)
        if isinstance(limit, int | float) and not isinstance(limit, bool):
            return limit + step
    return 1


def _size(schema: Mapping[str, Json], bound: str) -> int:
    size = schema.get(bound)
    return size if isinstance(size, int) and not isinstance(size, bool) else 0
