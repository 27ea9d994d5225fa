"""Is each keyword of a parameter schema well formed on its own? Rule: pack.md §3."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bfcl.canonical import Json, canonical_text
from bfcl.located import canonical_word

TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")


class SchemaDefect(NamedTuple):
    """`pointer` is the JSON pointer of the keyword at fault, below the schema root (`""` is the root)."""

    pointer: str
    problem: str
    message: str


def has_type(value: Json, name: str) -> bool:
    """Whether a value has a JSON type, strictly: booleans are no numbers and `2.0` is no integer."""
    if name == "null":
        return value is None
    if name == "boolean":
        return isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return _is_number(value)
    if name == "string":
        return isinstance(value, str)
    return isinstance(value, Mapping) if name == "object" else isinstance(value, list | tuple)


_Rule = Callable[[Json, str], Iterator[SchemaDefect]]


def _malformed(here: str, value: Json, expected: str) -> SchemaDefect:
    keyword = here.rpartition("/")[2]
    return SchemaDefect(here, "malformed_keyword", f"`{keyword}` is {canonical_word(value)}; expected {expected}")


def _rule(expected: str, fits: Callable[[Json], bool]) -> _Rule:
    def check(value: Json, here: str) -> Iterator[SchemaDefect]:
        if not fits(value):
            yield _malformed(here, value, expected)

    return check


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_length(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_positive(value: Json) -> bool:
    return _is_number(value) and value > 0  # type: ignore[operator]


def _is_object(value: Json) -> bool:
    return isinstance(value, Mapping)


def _is_schema_list(value: Json) -> bool:
    return isinstance(value, list) and bool(value)


def _type(value: Json, here: str) -> Iterator[SchemaDefect]:
    if isinstance(value, str):
        if value not in TYPES:
            yield _malformed(here, value, f"one of {', '.join(TYPES)}")
        return
    if not isinstance(value, list) or not value:
        yield _malformed(here, value, "a type name or a non-empty list of them")
        return
    for index, name in enumerate(value):
        if name not in TYPES:
            yield SchemaDefect(
                f"{here}/{index}", "malformed_keyword", f"`type` lists {canonical_word(name)}; expected type names"
            )
        elif name in value[:index]:
            yield SchemaDefect(f"{here}/{index}", "repeated_member", f"`type` lists {canonical_word(name)} twice")


def _enum(value: Json, here: str) -> Iterator[SchemaDefect]:
    if not isinstance(value, list):
        yield _malformed(here, value, "a list")
        return
    if not value:
        yield SchemaDefect(here, "empty_enum", "`enum` is empty, so no value can ever pass")
    yield from _repeated(value, here, "enum")


def _required_names(value: Json, here: str) -> Iterator[SchemaDefect]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        yield _malformed(here, value, "a list of property names")
        return
    yield from _repeated(value, here, "required")


def _repeated(members: list[Json], here: str, keyword: str) -> Iterator[SchemaDefect]:
    seen: set[str] = set()
    for index, member in enumerate(members):
        key = canonical_text(_number_form(member))
        if key in seen:
            message = f"`{keyword}` lists {canonical_word(member)} twice"
            yield SchemaDefect(f"{here}/{index}", "repeated_member", message)
        seen.add(key)


def _number_form(value: Json) -> Json:
    # JSON Schema equality: 1 and 1.0 are one number.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _number_form(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_number_form(item) for item in value]
    return value


def _pattern(value: Json, here: str) -> Iterator[SchemaDefect]:
    if not isinstance(value, str):
        yield _malformed(here, value, "a regular expression")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"`pattern` {canonical_word(value)} is not a regular expression: {error}"
        yield SchemaDefect(here, "malformed_keyword", message)


_NUMBER = _rule("a number", _is_number)
_LENGTH = _rule("an integer of at least 0", _is_length)
_TEXT = _rule("text", lambda value: isinstance(value, str))
_OBJECT = _rule("an object of schemas", _is_object)
_ANYTHING = _rule("any value", lambda _: True)

RULES: dict[str, _Rule] = {
    "type": _type,
    "properties": _OBJECT,
    "required": _required_names,
    "additionalProperties": _rule("true, false or a schema", lambda value: isinstance(value, bool | Mapping)),
    "items": _rule("a schema", _is_object),
    "enum": _enum,
    "const": _ANYTHING,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "multipleOf": _rule("a number above 0", _is_positive),
    "minLength": _LENGTH,
    "maxLength": _LENGTH,
    "pattern": _pattern,
    "minItems": _LENGTH,
    "maxItems": _LENGTH,
    "uniqueItems": _rule("true or false", lambda value: isinstance(value, bool)),
    "minProperties": _LENGTH,
    "maxProperties": _LENGTH,
    "allOf": _rule("a non-empty list of schemas", _is_schema_list),
    "$ref": _TEXT,
    "$defs": _OBJECT,
    "definitions": _OBJECT,
    "default": _ANYTHING,
    "title": _TEXT,
    "description": _TEXT,
    "$comment": _TEXT,
    "examples": _rule("a list", lambda value: isinstance(value, list)),
}
