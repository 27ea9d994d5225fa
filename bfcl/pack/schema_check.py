"""Does a value fit a part of a schema file, and if not, where does it fail?

The schema decides, for editors and for the loader alike. A part is compiled once into a function that answers None for
a fitting value, so that a pack of thousands of templates loads at the speed of its parser; jsonschema, which is many
times slower, is the reference in the tests.

Keywords of our own, which no other validator reads: `x-expected` (what to say of a wrong type), `x-fewest` (of too few
entries), `x-rule` (who explains a failed `pattern`), `x-elsewhere` (keys that belong to another place), `x-left-to`
(the part that carries it is for editors alone, since a check answers for it under the code named).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.pack.schema_files import schema

Pointer: TypeAlias = tuple[str | int, ...]


class Fault(NamedTuple):
    """`value`, at `pointer`, fails `part` by `keyword`. For a required key that is missing, `pointer` is its place."""

    pointer: Pointer
    keyword: str
    value: Json
    part: Mapping[str, Any]


Check: TypeAlias = Callable[[Any], list[Fault] | None]
"""The faults of a value, pointers starting at it; None where it fits."""

ROOT: Pointer = ()
ENTRY: Pointer = ("items",)
"""Where in a schema the entries of a list are described."""


def fields(name: str, part: Pointer = ROOT) -> tuple[str, ...]:
    """The keys that the object at `part` of schema `name` declares, in file order."""
    return tuple(part_of(name, part)["properties"])


def part_of(name: str, pointer: Pointer) -> Any:
    """The part of schema `name` at `pointer`, references not followed."""
    found: Any = schema(name)
    for step in pointer:
        found = found[step]
    return found


@functools.cache
def compiled(name: str, part: Pointer = ROOT) -> Check:
    """The check of one part. Raises ValueError where the schema uses a keyword that nothing here enforces."""
    return _Compiler(schema(name)).check(part_of(name, part))


_ANNOTATIONS = frozenset({"$schema", "$id", "$defs", "title", "description", "default", "examples"})
_OWN = frozenset({"x-expected", "x-fewest", "x-rule", "x-elsewhere"})
_KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


class _Compiler:
    """Turns the parts of one schema into checks."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._definitions: Mapping[str, Any] = root.get("$defs", {})
        self._made: dict[str, Check] = {}

    def check(self, part: Mapping[str, Any]) -> Check:
        """All keywords of `part`: the type first, since the others ask what only the right type can answer."""
        rest = {key: value for key, value in part.items() if key not in _ANNOTATIONS and key not in _OWN}
        parts = rest.pop("allOf", [])
        checks = [self.check(one) for one in parts if "x-left-to" not in one]
        if "$ref" in rest:
            checks.append(self._referred(rest.pop("$ref")))
        if "oneOf" in rest:
            checks.append(self._branches(part, rest.pop("oneOf")))
        if "const" in rest or "enum" in rest:
            checks.append(_words(part, rest.pop("enum", None) or [rest.pop("const")]))
        kinds = rest.pop("type", None)
        limits = self._limits(part, rest)
        if rest:
            raise ValueError(f"schema keywords that nothing enforces: {', '.join(rest)}")
        if kinds is not None or limits:
            checks.append(_typed(part, [kinds] if isinstance(kinds, str) else kinds, limits))
        return checks[0] if len(checks) == 1 else _every(checks)

    def _limits(self, part: Mapping[str, Any], rest: dict[str, Any]) -> dict[type, Check]:
        """What a value of a Python type must fulfil beyond it."""
        limits: dict[type, Check] = {}
        if "pattern" in rest:
            limits[str] = _matching(part, re.compile(rest.pop("pattern")).search)
        if "minimum" in rest:
            limits[int] = _least(part, rest.pop("minimum"))
        if rest.keys() & {"items", "minItems", "uniqueItems"}:
            items = self.check(rest.pop("items", {}))
            limits[list] = _listed(part, items, rest.pop("minItems", 0), unique=rest.pop("uniqueItems", False))
        objects = ("properties", "required", "additionalProperties", "patternProperties", "propertyNames")
        if rest.keys() & {*objects, "minProperties"}:
            limits[dict] = self._object(part)
            for key in (*objects, "minProperties"):
                rest.pop(key, None)
        return limits

    def _object(self, part: Mapping[str, Any]) -> Check:
        checks = {key: self.check(one) for key, one in part.get("properties", {}).items()}
        required = [(key, self._nullable(part["properties"][key])) for key in part.get("required", ())]
        others = part.get("additionalProperties", True)
        free = tuple(_prefix(key, one) for key, one in part.get("patternProperties", {}).items())
        rest = None if others is True or others is False else self.check(others)
        named = self.check(part["propertyNames"]) if "propertyNames" in part else None
        fewest = part.get("minProperties", 0)

        def check(value: dict[str, Json]) -> list[Fault] | None:
            faults: list[Fault] = []
            missing: list[str] = []
            if len(value) < fewest:
                faults.append(Fault((), "minProperties", value, part))
            for key, nullable in required:
                if value.get(key) is None and not (nullable and key in value):
                    missing.append(key)
            for key, item in value.items():
                if named is not None and (found := named(key)):
                    faults += [Fault((key,), "propertyNames", key, one.part) for one in found]
                own = checks.get(key)
                if own is None:
                    if others is True or (free and key.startswith(free)):
                        continue
                    if rest is None:
                        faults.append(Fault((key,), "additionalProperties", value, part))
                        continue
                    own = rest
                if (found := own(item)) and not (item is None and key in missing):
                    faults += [one._replace(pointer=(key, *one.pointer)) for one in found]
            faults += [Fault((key,), "required", value, part) for key in missing]
            return faults or None

        return check

    def _nullable(self, part: Mapping[str, Any]) -> bool:
        """Whether the part accepts null itself, so that a null under a required key is no missing one."""
        return self.check(part)(None) is None

    def _referred(self, reference: str) -> Check:
        name = reference.removeprefix("#/$defs/")
        if name not in self._made:
            made = self._made

            def late(value: Any) -> list[Fault] | None:
                return made[name](value)

            made[name] = late  # a definition may refer to itself
            made[name] = self.check(self._definitions[name])
        return self._made[name]

    def _branches(self, part: Mapping[str, Any], branches: list[Mapping[str, str]]) -> Check:
        """Objects told apart by the word under `type`."""
        kinds: dict[str, Check] = {}
        for branch in branches:
            definition = self._definitions[branch["$ref"].removeprefix("#/$defs/")]
            kinds[definition["properties"]["type"]["const"]] = self._referred(branch["$ref"])
        told = {**part, "enum": list(kinds)}

        def check(value: Any) -> list[Fault] | None:
            if type(value) is not dict:
                return [Fault((), "type", value, {**part, "type": "object"})]
            kind = value.get("type")
            if not isinstance(kind, str) or kind not in kinds:
                return [Fault(("type",), "oneOf", value, told)]
            return kinds[kind](value)

        return check


def _prefix(pattern: str, part: Mapping[str, Any]) -> str:
    """The prefix of keys that are free: `^x-`, any value. Raises ValueError for what else may stand there."""
    prefix = pattern.removeprefix("^")
    if pattern != f"^{prefix}" or prefix != re.escape(prefix).replace("\\-", "-") or part.keys() - _ANNOTATIONS:
        raise ValueError(f"pattern properties that nothing enforces: {pattern}")
    return prefix


def _every(checks: list[Check]) -> Check:
    def check(value: Any) -> list[Fault] | None:
        faults = [fault for one in checks for fault in one(value) or ()]
        return faults or None

    return check


def _typed(part: Mapping[str, Any], kinds: list[str] | None, limits: Mapping[type, Check]) -> Check:
    types = None if kinds is None else frozenset(one for kind in kinds for one in _KINDS[kind])
    lonely = next(iter(limits.items())) if len(limits) == 1 else None
    plain, limit = lonely or (None, None)

    def check(value: Any) -> list[Fault] | None:
        kind = type(value)
        if types is not None and kind not in types:
            return [Fault((), "type", value, part)]
        if kind is plain and limit is not None:
            return limit(value)
        own = limits.get(kind)
        return None if own is None else own(value)

    return check


def _matching(part: Mapping[str, Any], search: Callable[[str], object]) -> Check:
    def check(value: str) -> list[Fault] | None:
        return None if search(value) else [Fault((), "pattern", value, part)]

    return check


def _least(part: Mapping[str, Any], least: int) -> Check:
    def check(value: int) -> list[Fault] | None:
        return None if value >= least else [Fault((), "minimum", value, part)]

    return check


def _words(part: Mapping[str, Any], words: list[Json]) -> Check:
    def check(value: Any) -> list[Fault] | None:
        # `True` equals 1 in Python, and a list equals no word.
        fits = any(type(word) is type(value) and word == value for word in words)
        return None if fits else [Fault((), "enum", value, part)]

    return check


def _listed(part: Mapping[str, Any], items: Check, fewest: int, *, unique: bool) -> Check:
    def check(value: list[Json]) -> list[Fault] | None:
        faults = [Fault((), "minItems", value, part)] if len(value) < fewest else []
        seen: set[object] = set()
        for index, item in enumerate(value):
            found = items(item)
            if found:
                faults += [one._replace(pointer=(index, *one.pointer)) for one in found]
            elif unique:
                mark = item if type(item) is str else (canonical_text(item),)
                if mark in seen:
                    faults.append(Fault((index,), "uniqueItems", item, part))
                seen.add(mark)
        return faults or None

    return check
