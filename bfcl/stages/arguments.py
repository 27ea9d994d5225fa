"""Do a call's arguments satisfy its tool's parameter schema, by strict JSON types?

Rule: generation.md §3.5, pack.md §3. A schema is compiled once and kept.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bfcl.canonical import Json, canonical_text
from bfcl.pack.json_pointer import pointer_parts, pointer_text
from bfcl.pack.pattern_search import LIMIT_S, pattern_matches
from bfcl.pack.schema_keywords import TYPES
from bfcl.records.verdict import SchemaFailure
from bfcl.stages.divergence import shortened

Checker = Callable[[Mapping[str, Json]], "list[SchemaFailure]"]
"""Arguments to failures, sorted by pointer, code and message."""

CODES: Mapping[str, str] = {
    "type": "argument_type_mismatch",
    # `multipleOf: 1` is how a schema spells integer, so a value off the grid is of the wrong kind.
    "multipleOf": "argument_type_mismatch",
    "enum": "argument_not_in_enum",
    "const": "argument_not_equal_const",
    "minLength": "string_too_short",
    "maxLength": "string_too_long",
    "pattern": "string_pattern_mismatch",
    "minimum": "number_below_minimum",
    "exclusiveMinimum": "number_below_minimum",
    "maximum": "number_above_maximum",
    "exclusiveMaximum": "number_above_maximum",
    "minItems": "array_too_short",
    "maxItems": "array_too_long",
    # A repeated item is one item too many.
    "uniqueItems": "array_too_long",
    "required": "missing_required_argument",
    "minProperties": "missing_required_argument",
    "additionalProperties": "unknown_argument",
    "maxProperties": "unknown_argument",
}
"""Schema keyword to failure code. `allOf` and `$ref` report what fails inside them."""


def argument_failures(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> list[SchemaFailure]:
    """Every way `arguments` break `schema`, sorted by pointer, code and message; pointers into the arguments.

    A schema that cannot be used at all gives its own failures (`unresolvable_schema_ref`, `invalid_schema_type`,
    `invalid_schema_pattern`) and no others.
    """
    return checker(schema)(arguments)


def checker(schema: Mapping[str, Json]) -> Checker:
    """The compiled form of a schema; equal schemas share one."""
    return _compiled(canonical_text(schema))


def required_parameters(schema: Mapping[str, Json]) -> list[str]:
    """Parameters the schema's root requires, in `required` order, its local `$ref` and `allOf` members included."""
    found: dict[str, None] = {}
    seen: list[Mapping[str, Json]] = []

    def collect(part: Json) -> None:
        if not isinstance(part, Mapping) or any(part is one for one in seen):
            return
        seen.append(part)
        names = part.get("required")
        found.update((name, None) for name in _listed(names) if isinstance(name, str))
        reference = part.get("$ref")
        if isinstance(reference, str):
            collect(_resolved(schema, reference))
        for member in _listed(part.get("allOf")):
            collect(member)

    collect(schema)
    return list(found)


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


# --- unusable schemas ---------------------------------------------------------------------------------------------


def _defects(schema: Json) -> list[SchemaFailure]:
    """Why a schema cannot be used, each defect once."""
    found: list[SchemaFailure] = []
    for part in _subschemas(schema):
        if not isinstance(part, Mapping):
            continue
        if "type" in part:
            named = part["type"]
            wrong = [one for one in (named if isinstance(named, list) else [named]) if one not in TYPES]
            if wrong or named == []:
                shown = shortened(wrong[0] if wrong else named)
                found.append(
                    _failure("invalid_schema_type", f"schema type {shown} is none of {', '.join(sorted(TYPES))}")
                )
        if "pattern" in part and not _compiles(part["pattern"]):
            message = f"schema pattern {shortened(part['pattern'])} is not a regular expression"
            found.append(_failure("invalid_schema_pattern", message))
    found += [
        _failure("unresolvable_schema_ref", f"schema reference {shortened(reference)} {why}")
        for reference, why in _broken_references(schema)
    ]
    return found


def _compiles(pattern: Json) -> bool:
    try:
        re.compile(pattern) if isinstance(pattern, str) else re.compile("(")
    except re.error:
        return False
    return True


def _subschemas(schema: Json) -> Iterator[Json]:
    yield schema
    if isinstance(schema, Mapping):
        for below in _below(schema):
            yield from _subschemas(below)


def _below(schema: Mapping[str, Json]) -> Iterator[Json]:
    """The schemas directly inside a schema; data keywords such as `default` and `enum` hold none."""
    for keyword in ("properties", "$defs", "definitions"):
        members = schema.get(keyword)
        if isinstance(members, Mapping):
            yield from members.values()
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield schema[keyword]
    yield from _listed(schema.get("allOf"))


def _broken_references(root: Json) -> list[tuple[Json, str]]:
    """References outside the schema, to nothing, or around in a circle, with the reason; each once."""
    broken: dict[str, str] = {}
    done: set[str] = set()

    def follow(part: Json, trail: tuple[str, ...]) -> None:
        if not isinstance(part, Mapping):
            return
        if "$ref" in part:
            reference = part["$ref"]
            key = canonical_text(reference)
            target = _resolved(root, reference) if isinstance(reference, str) else None
            if target is None:
                broken[key] = "names no schema inside this one"
            elif key in trail:
                broken[key] = "leads back to itself"
            elif key not in done:
                follow(target, (*trail, key))
                done.add(key)
        for below in _below(part):
            follow(below, trail)

    follow(root, ())
    return [(json.loads(key), why) for key, why in sorted(broken.items())]


def _resolved(root: Json, reference: str) -> Json:
    """The subschema a local reference (`#`, `#/a/b`) names, or None."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found = root
    for key in pointer_parts(reference):
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isascii() and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found if isinstance(found, Mapping | bool) else None


# --- compiling ----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> Checker:
    schema = json.loads(text)
    defects = _defects(schema)
    validator = _strict_validator()
    if not defects:
        # Whatever else makes a keyword unusable (a text for `minimum`) is found by the metaschema, not by a crash.
        defects = [
            _failure("invalid_schema_type", f"schema keyword {pointer_text(error.path)} is malformed")
            for error in validator(validator.META_SCHEMA).iter_errors(schema)
        ]
    if defects:
        refused = sorted(defects, key=_order)
        return lambda _arguments: list(refused)
    ready = validator(schema)

    def failures(arguments: Mapping[str, Json]) -> list[SchemaFailure]:
        found = [_failed(error) for error in ready.iter_errors(arguments)]
        if len(found) > 1:
            # Two `allOf` members may report one and the same thing.
            found = sorted(dict.fromkeys(found), key=_order)
        return found

    return failures


def _order(failure: SchemaFailure) -> tuple[str, str, str]:
    return (failure.pointer or "", failure.code, failure.message)


@functools.cache
def _strict_validator() -> Any:
    """Draft 2020-12 with JSON types told apart: no boolean is a number, no `2.0` an integer, `1` is not `1.0`."""
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import ValidationError

    def one_of(_validator: Any, members: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        text = canonical_text(instance)
        if all(canonical_text(member) != text for member in members):
            yield ValidationError("")

    def equal_to(_validator: Any, constant: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if canonical_text(constant) != canonical_text(instance):
            yield ValidationError("")

    def unique(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if not wanted or not validator.is_type(instance, "array"):
            return
        if len({canonical_text(item) for item in instance}) < len(instance):
            yield ValidationError("")

    def additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "object") or allowed is True:
            return
        declared = schema.get("properties", {})
        for name in instance:
            if name in declared:
                continue
            if allowed is False:
                yield ValidationError("", path=[name])
            else:
                yield from validator.descend(instance[name], allowed, path=name)

    def matching(validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "string"):
            return
        try:
            if not pattern_matches(pattern, instance):
                yield ValidationError("")
        except TimeoutError as error:
            yield ValidationError("", cause=error)

    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "array": lambda _checker, value: isinstance(value, list | tuple),
            "boolean": lambda _checker, value: value is True or value is False,
            "integer": lambda _checker, value: type(value) is int,
            "number": lambda _checker, value: type(value) is int or type(value) is float,
            "object": lambda _checker, value: isinstance(value, Mapping),
        }
    )
    keywords = {
        "enum": one_of,
        "const": equal_to,
        "uniqueItems": unique,
        "additionalProperties": additional,
        "pattern": matching,
    }
    extend: Any = validators.extend
    return extend(Draft202012Validator, keywords, type_checker=types)


# --- telling ------------------------------------------------------------------------------------------------------

_EXPECTED: Mapping[str, str] = {
    "minLength": "expected at least {} characters",
    "maxLength": "expected at most {} characters",
    "pattern": "expected a match of {}",
    "minimum": "expected at least {}",
    "exclusiveMinimum": "expected more than {}",
    "maximum": "expected at most {}",
    "exclusiveMaximum": "expected less than {}",
    "multipleOf": "expected a multiple of {}",
    "minItems": "expected at least {} items",
    "maxItems": "expected at most {} items",
    "minProperties": "expected at least {} members",
    "maxProperties": "expected at most {} members",
    "enum": "expected one of {}",
    "const": "expected {}",
}


def _failed(error: Any) -> SchemaFailure:
    keyword, limit = str(error.validator), error.validator_value
    pointer = pointer_text(error.absolute_path)
    if keyword == "required":
        # jsonschema names the missing property in its sentence only.
        name = next(name for name in limit if f"{name!r} is a required property" == error.message)
        return _failure("missing_required_argument", f"`{name}` is missing; the schema requires it", pointer)
    if error.validator is None or keyword == "additionalProperties":
        name = error.absolute_path[-1] if error.absolute_path else ""
        return _failure("unknown_argument", f"`{name}` is no argument of the schema", pointer)
    shown = shortened(error.instance)
    if isinstance(error.cause, TimeoutError):
        message = f"schema pattern {shortened(limit)} did not come to an end on {shown} within {LIMIT_S:g} s"
        return _failure("invalid_schema_pattern", message, pointer)
    if keyword == "type":
        names = limit if isinstance(limit, list) else [limit]
        message = f"{shown} is {_type_of(error.instance)}; expected {' or '.join(names)}"
    elif keyword == "uniqueItems":
        message = f"{shown} repeats an item; expected unique items"
    else:
        message = f"{shown}; {_EXPECTED.get(keyword, keyword + ' {}').format(shortened(limit))}"
    return _failure(CODES.get(keyword, "argument_type_mismatch"), message, pointer)


def _type_of(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def _failure(code: str, message: str, pointer: str | None = None) -> SchemaFailure:
    return SchemaFailure(code=code, message=message, pointer=pointer)
