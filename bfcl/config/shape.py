"""Does a configuration have the shape its JSON Schema asks for, and if not, what does a person have to change?

jsonschema decides; the words are ours. It is imported only here and only when a configuration is validated.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bfcl.canonical import Json
from bfcl.config.credentials import is_secret_key
from bfcl.config.view import INVALID, REFERENCE, Pointer, View, dotted, seen
from bfcl.errors import Problem, did_you_mean

SCHEMA_PATH = Path(__file__).parent / "schemas" / "run_config.schema.json"

OPEN_BLOCKS = ("surface_generation", "exports")
"""Unknown keys here ask for a feature, so `features` answers for them: only generation refuses them."""


class _Fault(NamedTuple):
    """A validator's finding: `part` is the schema that `value`, at `pointer`, fails by `keyword`."""

    pointer: Pointer
    keyword: str
    value: Any
    part: Mapping[str, Any]


@functools.cache
def schema() -> Mapping[str, Any]:
    """The schema as shipped."""
    loaded: Mapping[str, Any] = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    return loaded


def shape_problems(view: View) -> list[Problem]:
    """Unknown and missing keys, wrong types and values out of range: one problem per key."""
    problems: list[Problem] = []
    reported: set[tuple[Pointer, bool]] = set()
    for fault in _faults(view.raw):
        # jsonschema yields an error per missing key, and one per keyword a value fails: each place speaks once.
        mark = fault.pointer, fault.keyword == "required"
        if fault.keyword == "additionalProperties":
            problems += _unknown(view, fault)
        elif mark not in reported:
            reported.add(mark)
            problems += _missing(view, fault) if fault.keyword == "required" else [_wrong(view, fault)]
    return problems


def expected(part: Mapping[str, Any]) -> str:
    """What a leaf of the schema accepts, in words."""
    if "x-expected" in part:
        return str(part["x-expected"])
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        words = [f"`{word}`" if isinstance(word, str) else "null" for word in part["enum"]]
        return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
    return " or ".join(_KINDS[kind] + (_bounds(part) if kind != "null" else "") for kind in kinds)


_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _bounds(part: Mapping[str, Any]) -> str:
    words = {
        "minLength": "of at least {} character",
        "minimum": "of at least {}",
        "exclusiveMinimum": "above {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "below {}",
    }
    found = [text.format(part[key]) for key, text in words.items() if key in part]
    return f" {' and '.join(found)}" if found else ""


def _faults(raw: Mapping[str, Json]) -> Iterator[_Fault]:
    for error in _validator().iter_errors(raw):
        yield _Fault(tuple(error.absolute_path), error.validator, error.instance, error.schema)


@functools.cache
def _validator() -> Any:
    # Heavy, and a build with nothing to do never gets here.
    from jsonschema import Draft202012Validator, validators

    # The standard takes 1.0 for an integer; a configuration must say what it means.
    strict = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    extend: Any = validators.extend
    return extend(Draft202012Validator, type_checker=strict)(schema())


def _code(pointer: Pointer, value: Json) -> str:
    if pointer[:1] == ("reference_benchmark",):
        return REFERENCE
    if pointer == ("family",) and value is None:
        return "missing_family_pin"
    if pointer == ("stage",) and isinstance(value, str):
        return "byob_stage_unsupported"
    return INVALID


def _missing(view: View, fault: _Fault) -> Iterator[Problem]:
    for key in fault.part["required"]:
        if key not in fault.value:
            place = (*fault.pointer, key)
            message = f"is missing; expected {expected(_resolved(fault.part['properties'][key]))}"
            fix = "add `family: bfcl`" if place == ("family",) else f"add `{key}`"
            yield view.problem(_code(place, None), place, message, fix)


def _unknown(view: View, fault: _Fault) -> Iterator[Problem]:
    if fault.pointer in {(block,) for block in OPEN_BLOCKS}:
        return
    known = fault.part["properties"]
    where = f"`{dotted(fault.pointer)}`" if fault.pointer else "the configuration"
    for key in fault.value:
        if key not in known and not is_secret_key(key):
            place = (*fault.pointer, key)
            yield view.unknown(_code(place, fault.value[key]), place, known, f"is not a key of {where}")


def _wrong(view: View, fault: _Fault) -> Problem:
    code = _code(fault.pointer, fault.value)
    message = f"is {seen(fault.value, fault.pointer)}; expected {expected(fault.part)}"
    return view.problem(code, fault.pointer, message, _fix(code, fault.value, fault.part))


def _fix(code: str, value: Json, part: Mapping[str, Any]) -> str | None:
    if code == "missing_family_pin":
        return "set `family: bfcl`"
    words = [word for word in (*part.get("enum", ()), part.get("const")) if isinstance(word, str)]
    kinds = [part["type"]] if isinstance(part.get("type"), str) else part.get("type", [])
    match value:
        case str() if words:
            return did_you_mean(value, words)
        case str() if "boolean" in kinds or "integer" in kinds or "number" in kinds:
            return "write true or false, without quotes" if "boolean" in kinds else "write a number, without quotes"
        case bool() if "integer" in kinds or "number" in kinds:
            return "write a number"
        case float() if "integer" in kinds and value.is_integer():
            return f"write `{int(value)}`"
        case int() | float() if str(value) in words:
            return f'quote it: `"{value}"`'
        case None if "object" in kinds:
            return "remove the key, or write `{}`"
    return None


def _resolved(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """`part`, or the definition it refers to."""
    reference = part.get("$ref")
    if reference is None:
        return part
    definition: Mapping[str, Any] = schema()["$defs"][reference.removeprefix("#/$defs/")]
    return definition
