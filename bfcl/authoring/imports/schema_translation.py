"""How does a schema of an OpenAPI file read in the supported subset of JSON Schema? Rule: pack.md §3.

References are replaced by what they name. Nothing is lost in silence: whatever the subset lacks leaves a notice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bfcl.authoring.imports.merge import Schema, Widened, disjoint, intersect, opens, type_value, types_of, widen
from bfcl.authoring.imports.references import References
from bfcl.authoring.imports.report import Notes, Pointer
from bfcl.authoring.imports.settle import settle
from bfcl.canonical import Json, canonical_text
from bfcl.located import canonical_word
from bfcl.pack.json_pointer import pointer_parts
from bfcl.pack.schema_keywords import RULES, TYPES

MAX_NODES: Final = 5_000
"""Schemas of one tool after references are replaced; more is cut, since no model could read it."""
MAX_DEPTH: Final = 40

_LOOKAROUND = re.compile(r"\(\?(?:[=!]|<[=!])")
_TELLING_FORMATS = frozenset(
    {"date", "date-time", "time", "duration", "email", "uri", "url", "uuid", "hostname", "ipv4", "ipv6", "byte"}
)
_ELSEWHERE = frozenset(
    {
        "$defs",
        "definitions",
        "properties",
        "required",
        "items",
        "prefixItems",
        "additionalProperties",
        "patternProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "nullable",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "example",
        "examples",
        "format",
        "pattern",
    }
)
"""Keywords with a method of their own; `$defs` are read only where a reference leads."""
_MARKS = frozenset({"deprecated", "readOnly", "writeOnly"})
"""Keywords that say nothing when false."""
_SAID_ONCE = {
    "deprecated": "a mark for readers, which no caller has to obey",
    "discriminator": "it chooses a branch; the branches became one schema",
    "externalDocs": "documentation",
    "readOnly": "the value stands in answers; here it may be sent",
    "writeOnly": "requests may carry it, which is what counts here",
    "xml": "it shapes XML only",
    "unevaluatedProperties": "further properties are accepted",
    "if": "the condition is not enforced",
    "not": "what it forbids is accepted",
}


class Translator:
    """Translates the schemas of one tool. `dialect` is `3.0` or `3.1`."""

    def __init__(self, references: References, notes: Notes, dialect: str) -> None:
        self._references = references
        self._notes = notes
        self._dialect = dialect
        self._left = MAX_NODES
        self._depth = 0

    def schema(self, value: Json, at: Pointer, trail: tuple[Pointer, ...] = ()) -> Schema:
        """The schema at `at` in the subset. `trail`: the references being followed, to cut those that return."""
        if isinstance(value, bool):
            if not value:
                self._notes.note(at, "false", "widened", "a schema that nothing fits became one that anything fits")
            return {}
        if not isinstance(value, Mapping):
            self._notes.note(at, "schema", "dropped", f"{canonical_word(value)} is no schema; anything is accepted")
            return {}
        self._left -= 1
        if self._left < 0 or self._depth >= MAX_DEPTH:
            self._notes.note(at, "schema", "cut", "the schema grows too large from here; anything is accepted")
            return {}
        self._depth += 1
        try:
            return self._reference(value, at, trail) if "$ref" in value else self._plain(value, at, trail)
        finally:
            self._depth -= 1

    def _plain(self, value: Mapping[str, Json], at: Pointer, trail: tuple[Pointer, ...]) -> Schema:
        schema = self._own(value, at, trail)
        typed = "type" in schema
        if typed:
            self._nullable(schema, value, at)
        # Joining compares bounds and lists, so what is malformed has to be gone by then.
        schema = self._settled(schema, at, inside_settled=True)
        joins = {"allOf", "anyOf", "oneOf"} & set(value)
        if typed and not joins:
            return schema
        if "allOf" in value:
            schema = self._all_of(schema, value["allOf"], (*at, "allOf"), trail)
        for keyword in ("anyOf", "oneOf"):
            if keyword in value:
                schema = self._any_of(schema, value[keyword], (*at, keyword), trail)
        if not typed:
            self._nullable(schema, value, at)
        return self._settled(schema, at, inside_settled=not joins)

    def _settled(self, schema: Schema, at: Pointer, *, inside_settled: bool = False) -> Schema:
        settled, removed = settle(schema, inside_settled=inside_settled)
        for defect in removed:
            parts = pointer_parts(defect.pointer)
            where: Pointer = (*at, *(int(part) if part.isdecimal() else part for part in parts))
            keyword = next((part for part in reversed(parts) if not part.isdecimal()), "schema")
            self._notes.note(where, keyword, "dropped", f"{defect.problem}: {defect.message}")
        return settled

    def _reference(self, value: Mapping[str, Json], at: Pointer, trail: tuple[Pointer, ...]) -> Schema:
        target = self._references.target(value["$ref"], at)
        if target is None:
            return {}
        if target.at in trail:
            message = f"{canonical_word(value['$ref'])} leads back to itself; what is inside is not checked from here"
            self._notes.note((*at, "$ref"), "$ref", "cut", message)
            return _outline(target.value)
        found = self.schema(target.value, target.at, (*trail, target.at))
        beside = {keyword: each for keyword, each in value.items() if keyword != "$ref"}
        if self._dialect == "3.0":
            for keyword in sorted(set(beside) - {"description", "summary", "title"}):
                message = "it stands beside `$ref`, where OpenAPI 3.0 ignores it"
                self._notes.note((*at, keyword), keyword, "dropped", message)
            beside = {key: each for key, each in beside.items() if key in ("description", "title")}
        beside.pop("summary", None)
        own = self.schema(beside, at, trail) if beside else {}
        return self._settled(self._met(own, [found], (*at, "$ref")), at) if own else found

    # --- keyword by keyword ---------------------------------------------------------------------------------------

    def _own(self, value: Mapping[str, Json], at: Pointer, trail: tuple[Pointer, ...]) -> Schema:
        schema: Schema = {}
        for keyword, each in value.items():
            if keyword in _ELSEWHERE:
                continue
            if keyword in RULES:
                schema[keyword] = each
            elif not (each is False and keyword in _MARKS):
                said = _SAID_ONCE.get(keyword, "not part of the supported subset")
                self._notes.note((*at, keyword), keyword, "dropped", said)
        self._texts(schema, at)
        self._object(schema, value, at, trail)
        self._array(schema, value, at, trail)
        self._bounds(schema, value, at)
        self._words(schema, value, at)
        return schema

    def _texts(self, schema: Schema, at: Pointer) -> None:
        # YAML reads `enum: [1, 2]` as numbers whatever the type beside it says.
        if schema.get("type") != "string":
            return
        listed = schema.get("enum")
        if isinstance(listed, list) and any(map(_is_bare_word, listed)):
            schema["enum"] = [canonical_text(each) if _is_bare_word(each) else each for each in listed]
            self._notes.note((*at, "enum"), "enum", "translated", "its numbers became text, which the type asks for")
        if _is_bare_word(schema.get("default")):
            schema["default"] = canonical_text(schema["default"])
            self._notes.note((*at, "default"), "default", "translated", "it became text, which the type asks for")

    def _object(self, schema: Schema, value: Mapping[str, Json], at: Pointer, trail: tuple[Pointer, ...]) -> None:
        answers: list[str] = []
        properties = value.get("properties")
        if isinstance(properties, Mapping):
            kept: Schema = {}
            for name, child in properties.items():
                where = (*at, "properties", name)
                if child is False:
                    self._notes.note(where, "false", "dropped", "the property can never be given")
                elif self.is_read_only(child, where):
                    answers.append(name)
                    self._notes.note(where, "readOnly", "dropped", "the property stands in answers only")
                else:
                    kept[name] = self.schema(child, where, trail)
            schema["properties"] = kept
        elif "properties" in value:
            schema["properties"] = properties
        required = value.get("required")
        if isinstance(required, list):
            schema["required"] = [name for name in required if name not in answers]
        elif "required" in value:
            schema["required"] = required
        self._additional(schema, value, at, trail)

    def _additional(self, schema: Schema, value: Mapping[str, Json], at: Pointer, trail: tuple[Pointer, ...]) -> None:
        further = value.get("additionalProperties")
        if isinstance(further, Mapping):
            schema["additionalProperties"] = self.schema(further, (*at, "additionalProperties"), trail)
        elif "additionalProperties" in value:
            schema["additionalProperties"] = further
        if "patternProperties" not in value:
            return
        message = "names are not checked against patterns; further properties are accepted"
        self._notes.note((*at, "patternProperties"), "patternProperties", "widened", message)
        schema.pop("additionalProperties", None)

    def _array(self, schema: Schema, value: Mapping[str, Json], at: Pointer, trail: tuple[Pointer, ...]) -> None:
        rest = value.get("items")
        if "prefixItems" not in value and not isinstance(rest, list):
            if isinstance(rest, bool):
                if not rest:
                    self._notes.note((*at, "items"), "items", "widened", "a list without items; any item is accepted")
            elif "items" in value:
                schema["items"] = self.schema(rest, (*at, "items"), trail)
            return
        keyword = "prefixItems" if "prefixItems" in value else "items"
        first = value[keyword]
        branches = [
            self.schema(child, (*at, keyword, index), trail)
            for index, child in enumerate(first if isinstance(first, list) else [])
        ]
        if keyword == "prefixItems" and rest is not False:
            branches.append(self.schema(rest, (*at, "items"), trail) if rest is not None else {})
        self._notes.note((*at, keyword), keyword, "widened", "every item may be what any position admits")
        joined = widen(branches)
        self._narrowed(joined, (*at, keyword))
        schema["items"] = self._settled(joined.schema, (*at, keyword))

    def _bounds(self, schema: Schema, value: Mapping[str, Json], at: Pointer) -> None:
        for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            bound = value.get(exclusive)
            if not isinstance(bound, bool):
                if exclusive in value:
                    schema[exclusive] = bound
                continue
            where = (*at, exclusive)
            if bound and inclusive in schema:
                schema[exclusive] = schema.pop(inclusive)
                message = f"`{inclusive}` with `{exclusive}: true` became a numeric `{exclusive}`"
                self._notes.note(where, exclusive, "translated", message)
            else:
                because = f"there is no `{inclusive}` beside it" if bound else f"false, so `{inclusive}` says it all"
                self._notes.note(where, exclusive, "dropped", because)

    def _words(self, schema: Schema, value: Mapping[str, Json], at: Pointer) -> None:
        examples = value.get("examples")
        if isinstance(examples, list):
            schema["examples"] = examples
        elif "examples" in value:
            self._notes.note((*at, "examples"), "examples", "dropped", "no list of values")
        if "example" in value:
            if "examples" in schema:
                self._notes.note((*at, "example"), "example", "dropped", "`examples` stand beside it")
            else:
                schema["examples"] = [value["example"]]
                self._notes.note((*at, "example"), "example", "translated", "became the only one of `examples`")
        if "format" in value:
            self._format(schema, value["format"], (*at, "format"))
        pattern = value.get("pattern")
        if isinstance(pattern, str) and _LOOKAROUND.search(pattern):
            message = "lookaround, which many servers of models refuse"
            self._notes.note((*at, "pattern"), "pattern", "dropped", message)
        elif "pattern" in value:
            schema["pattern"] = pattern

    def _format(self, schema: Schema, said: Json, at: Pointer) -> None:
        description = schema.get("description", "")
        if isinstance(said, str) and said in _TELLING_FORMATS and isinstance(description, str):
            schema["description"] = f"{description.rstrip()} Format: {said}.".lstrip()
            self._notes.note(at, "format", "translated", f"{canonical_word(said)} is told in the description")
        else:
            self._notes.note(at, "format", "dropped", f"{canonical_word(said)} is not enforced")

    def is_read_only(self, value: Json, at: Pointer, seen: tuple[Pointer, ...] = ()) -> bool:
        """Whether a property stands in answers only, by itself or through what it refers to."""
        if not isinstance(value, Mapping) or at in seen or len(seen) > MAX_DEPTH:
            return False
        if value.get("readOnly") is True and not ("$ref" in value and self._dialect == "3.0"):
            return True
        if "$ref" in value:
            target = self._references.target(value["$ref"], at)
            return target is not None and self.is_read_only(target.value, target.at, (*seen, at))
        parts = value.get("allOf")
        return isinstance(parts, list) and any(
            self.is_read_only(part, (*at, "allOf", index), (*seen, at)) for index, part in enumerate(parts)
        )

    # --- schemas joined -------------------------------------------------------------------------------------------

    def _all_of(self, schema: Schema, parts: Json, at: Pointer, trail: tuple[Pointer, ...]) -> Schema:
        if not isinstance(parts, list):
            self._notes.note(at, "allOf", "dropped", "no list of schemas")
            return schema
        merged = self._met(schema, [self.schema(part, (*at, index), trail) for index, part in enumerate(parts)], at)
        apart = "allOf" in merged
        said = "parts that contradict the others stay apart" if apart else "its parts became one schema"
        self._notes.note(at, "allOf", "merged", said)
        return merged

    def _met(self, schema: Schema, parts: list[Schema], at: Pointer) -> Schema:
        """All of them as one; `at` is the keyword that asks for it."""
        if opens([schema, *parts]):
            said = "a part without further properties admits those that the other parts declare"
            self._notes.note(at, str(at[-1]), "widened", said)
        return intersect(schema, parts)

    def _narrowed(self, joined: Widened, at: Pointer) -> None:
        if joined.narrowed:
            said = "a property that one branch describes is checked in the others too, which accept anything there"
            self._notes.note(at, str(at[-1]), "narrowed", said)

    def _any_of(self, schema: Schema, branches: Json, at: Pointer, trail: tuple[Pointer, ...]) -> Schema:
        keyword = str(at[-1])
        if not isinstance(branches, list) or not branches:
            self._notes.note(at, keyword, "dropped", "no list of schemas")
            return schema
        read = [self.schema(each, (*at, index), trail) for index, each in enumerate(branches) if each is not False]
        if "type" in schema:
            read = [each if types_of(each) else {**each, "type": schema["type"]} for each in read]
        joined = widen(read)
        if joined.exact and (keyword == "anyOf" or disjoint(read)):
            self._notes.note(at, keyword, "translated", "its branches became one schema")
        else:
            said = "its branches became one schema that accepts what any of them accepts, and mixtures"
            self._notes.note(at, keyword, "widened", said)
        self._narrowed(joined, at)
        return self._met(schema, [joined.schema], at)

    def _nullable(self, schema: Schema, value: Mapping[str, Json], at: Pointer) -> None:
        if value.get("nullable") is not True:
            return
        where, types = (*at, "nullable"), types_of(schema)
        if not types or not set(types) <= set(TYPES) or "allOf" in schema:
            self._notes.note(where, "nullable", "dropped", "no type stands beside it that null could join")
            return
        schema["type"] = type_value(types if "null" in types else [*types, "null"])
        allowed = schema.get("enum")
        if isinstance(allowed, list) and None not in allowed:
            schema["enum"] = [*allowed, None]
        self._notes.note(where, "nullable", "translated", 'became the type "null" beside the others')


def _is_bare_word(value: Json) -> bool:
    """An integer or a truth value: its text is what was written."""
    return isinstance(value, int)


def _outline(value: Json) -> Schema:
    """The type and the words of a schema whose inside is cut."""
    if not isinstance(value, Mapping):
        return {}
    names = types_of(value) + (["null"] if value.get("nullable") is True and "type" in value else [])
    schema: Schema = {"type": type_value(names)} if names and set(names) <= set(TYPES) else {}
    words = value.get("description")
    return {**schema, "description": words} if isinstance(words, str) else schema
