"""Does a tool's parameter schema stay inside the subset that can be enforced? Rule: pack.md §3."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from bfcl.canonical import Json, canonical_text
from bfcl.errors import did_you_mean
from bfcl.located import canonical_word
from bfcl.pack.json_pointer import pointer_parts, pointer_text
from bfcl.pack.pattern_search import pattern_matches
from bfcl.pack.schema_keywords import RULES, SchemaDefect, has_type

Schema = Mapping[str, Json]

_MISSING = object()
_KNOWN_ELSEWHERE = frozenset(
    {
        "anyOf",
        "contains",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords of JSON Schema that only look like a slip of a supported one: a suggestion would mislead."""


def schema_problems(schema: Schema) -> list[SchemaDefect]:
    """Every defect of a parameter schema, in document order; the defaults are judged only where nothing else is wrong.

    `problem` is one of the words of pack.md §3, for the code `unsupported_parameter_schema`.
    """
    defects = list(_walk(schema, schema, ""))
    declared = schema.get("type")
    if declared is not None and declared != "object" and isinstance(declared, str | list):
        message = f"the root `type` is {canonical_word(declared)}; arguments are an object"
        defects.insert(0, SchemaDefect("/type", "malformed_keyword", message))
    return defects or list(_default_defects(schema, schema, ""))


# --- the walk -----------------------------------------------------------------------------------------------------


def _walk(schema: Json, root: Schema, at: str) -> Iterator[SchemaDefect]:
    if not isinstance(schema, Mapping):
        yield SchemaDefect(at, "malformed_keyword", f"{canonical_word(schema)} is not a schema object")
        return
    sound = True
    for keyword, value in schema.items():
        rule = RULES.get(keyword)
        here = at + pointer_text((keyword,))
        if rule is None:
            sound = False
            close = None if keyword in _KNOWN_ELSEWHERE else did_you_mean(keyword, RULES)
            hint = f"; {close}" if close else ""
            yield SchemaDefect(here, "unsupported_keyword", f"`{keyword}` is not part of the supported subset{hint}")
            continue
        own = list(rule(value, here))
        sound = sound and not own
        yield from own
        if not own:
            yield from _below(keyword, value, root, here)
    if sound:
        yield from _bounds(schema, at)
        yield from _members(schema, at)
        yield from _required(schema, at)


def _below(keyword: str, value: Json, root: Schema, here: str) -> Iterator[SchemaDefect]:
    for pointer, child in _children(keyword, value, here):
        yield from _walk(child, root, pointer)
    if keyword == "$ref":
        yield from _reference(str(value), root, here)


def _children(keyword: str, value: Json, here: str) -> Iterator[tuple[str, Json]]:
    """The sub-schemas of one keyword with their pointers."""
    if keyword in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
        for name, child in value.items():
            yield here + pointer_text((name,)), child
    elif keyword == "allOf" and isinstance(value, list):
        for index, child in enumerate(value):
            yield f"{here}/{index}", child
    elif keyword == "items" or (keyword == "additionalProperties" and not isinstance(value, bool)):
        yield here, value


def _reference(ref: str, root: Schema, here: str) -> Iterator[SchemaDefect]:
    if not ref.startswith("#"):
        yield SchemaDefect(here, "external_ref", f"`$ref` leads to {ref!r}, outside this schema")
        return
    parts = _ref_parts(ref)
    if ref == "#":
        yield SchemaDefect(here, "cyclic_ref", "`$ref` leads back to the whole schema")
    elif not parts or parts[0] not in ("$defs", "definitions") or len(parts) < 2:
        yield SchemaDefect(here, "external_ref", f"`$ref` leads to {ref!r}, outside `$defs` and `definitions`")
    elif _lookup(root, ref) is _MISSING:
        yield SchemaDefect(here, "missing_ref", f"`$ref` leads to {ref!r}, which does not exist")
    elif _reaches_itself(ref, root, here):
        yield SchemaDefect(here, "cyclic_ref", f"`$ref` {ref!r} leads back to itself")


def _reaches_itself(ref: str, root: Schema, here: str) -> bool:
    """Whether the `$ref` that stands at pointer `here` is met again by following it."""
    seen: set[str] = set()
    todo = [ref]
    while todo:
        target = todo.pop()
        pointer = pointer_text(_ref_parts(target))
        if pointer in seen:
            continue
        seen.add(pointer)
        if here.startswith(pointer + "/"):
            return True
        todo += _refs_below(_lookup(root, target))
    return False


def _refs_below(schema: object) -> list[str]:
    if not isinstance(schema, Mapping):
        return []
    found = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    for keyword, value in schema.items():
        for _, child in _children(keyword, value, ""):
            found += _refs_below(child)
    return found


def _ref_parts(ref: str) -> list[str]:
    return pointer_parts(unquote(ref[1:]))


def _lookup(root: Schema, ref: str) -> object:
    if not ref.startswith("#/"):
        return _MISSING
    value: Any = root
    for part in _ref_parts(ref):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and part.isascii() and int(part) < len(value):
            value = value[int(part)]
        else:
            return _MISSING
    return value


# --- keywords against each other ----------------------------------------------------------------------------------


def _bounds(schema: Schema, at: str) -> Iterator[SchemaDefect]:
    for low, high, strict in (
        ("minimum", "maximum", False),
        ("exclusiveMinimum", "maximum", True),
        ("minimum", "exclusiveMaximum", True),
        ("exclusiveMinimum", "exclusiveMaximum", True),
        ("minLength", "maxLength", False),
        ("minItems", "maxItems", False),
        ("minProperties", "maxProperties", False),
    ):
        if low not in schema or high not in schema:
            continue
        least: Any = schema[low]
        most: Any = schema[high]
        if least > most or (strict and least == most):
            message = f"`{low}` {canonical_word(least)} leaves nothing under `{high}` {canonical_word(most)}"
            yield SchemaDefect(f"{at}/{low}", "inconsistent_bounds", message)


def _members(schema: Schema, at: str) -> Iterator[SchemaDefect]:
    if "type" not in schema:
        return
    declared = schema["type"]
    types = declared if isinstance(declared, list) else [declared]
    enum = schema.get("enum", [])
    values = [
        (f"{at}/enum/{index}", "enum", value) for index, value in enumerate(enum if isinstance(enum, list) else [])
    ]
    if "const" in schema:
        values.append((f"{at}/const", "const", schema["const"]))
    for pointer, keyword, value in values:
        if not any(has_type(value, str(name)) for name in types):
            named = " or ".join(str(name) for name in types)
            message = f"`{keyword}` holds {canonical_word(value)}, which is no {named}"
            yield SchemaDefect(pointer, "value_violates_type", message)


def _required(schema: Schema, at: str) -> Iterator[SchemaDefect]:
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if schema.get("additionalProperties") is not False or not isinstance(required, list):
        return
    for index, name in enumerate(required):
        if isinstance(properties, Mapping) and name not in properties:
            message = f"`required` names {canonical_word(name)}, which is not declared while nothing else is allowed"
            yield SchemaDefect(f"{at}/required/{index}", "required_unsatisfiable", message)


# --- defaults -----------------------------------------------------------------------------------------------------


def _default_defects(schema: Json, root: Schema, at: str) -> Iterator[SchemaDefect]:
    """Defaults that their own schema refuses. Only for schemas without other defects, so references all resolve."""
    if not isinstance(schema, Mapping):
        return
    if "default" in schema:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fault = next(_validator(canonical_text(root)).evolve(schema=schema).iter_errors(schema["default"]), None)
        if fault is not None:
            message = f"`default` {canonical_word(schema['default'])} breaks `{fault.validator}` of its own schema"
            yield SchemaDefect(f"{at}/default", "default_violates_schema", message)
    for keyword, value in schema.items():
        for pointer, child in _children(keyword, value, at + pointer_text((keyword,))):
            yield from _default_defects(child, root, pointer)


@functools.lru_cache(maxsize=8)
def _validator(root: str) -> Any:
    # Imported here because listing tasks must not pay for jsonschema.
    from jsonschema import Draft202012Validator, ValidationError, validators

    def integer(_: object, value: Json) -> bool:
        return has_type(value, "integer")

    def matching(_: object, pattern: str, instance: Json, __: object) -> Iterator[ValidationError]:
        try:
            found = not isinstance(instance, str) or pattern_matches(pattern, instance)
        except TimeoutError:
            found = False
        if not found:
            yield ValidationError("")

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", integer)
    strict: Any = validators.extend(Draft202012Validator, {"pattern": matching}, type_checker=types)  # type: ignore[no-untyped-call]
    return strict(json.loads(root))
