"""What arguments does an operation take? Path, query and body become one object schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bfcl.authoring.imports.merge import Schema, members, types_of
from bfcl.authoring.imports.operations import Operation
from bfcl.authoring.imports.references import References, Target
from bfcl.authoring.imports.report import Faults, Notes, Pointer
from bfcl.authoring.imports.schema_translation import Translator
from bfcl.authoring.imports.settle import settle
from bfcl.canonical import Json
from bfcl.located import canonical_word

BODY: Final = "body"
"""The one parameter that carries a body which is no plain object."""

_TAKEN_IN = ("path", "query")
_LEFT_OUT = {
    "header": "headers are not arguments of a tool",
    "cookie": "cookies are not arguments of a tool",
}
_JSON_MEDIA = re.compile(r"application/(?:[\w.+-]+\+)?json(?:\s*;.*)?\Z", re.IGNORECASE)
_FORM_MEDIA = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(slots=True)
class _Arguments:
    """The object schema in the making; `places` says in which part of the request a name already stands."""

    properties: Schema = field(default_factory=dict)
    required: list[Json] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    further: Json = False

    def add(self, name: str, place: str, schema: Schema, *, required: bool) -> str:
        """Add a property, under another name where that is taken; the name it got."""
        given, number = name, 2
        while given in self.places:
            given = f"{place}_{name}" if number == 2 else f"{place}_{name}_{number - 1}"
            number += 1
        self.properties[given] = schema
        self.places[given] = place
        if required:
            self.required.append(given)
        return given


class OperationReader:
    """Reads the arguments of one operation."""

    def __init__(self, references: References, notes: Notes, faults: Faults, dialect: str) -> None:
        self._references = references
        self._notes = notes
        self._faults = faults
        self._translator = Translator(references, notes, dialect)

    def parameters(self, operation: Operation) -> Schema:
        """The parameter schema: path, then query, then body, each in file order; closed unless the body is open."""
        arguments = _Arguments()
        self._declared(operation, arguments)
        self._body(operation, arguments)
        schema: Schema = {"type": "object", "properties": arguments.properties}
        if arguments.required:
            schema["required"] = arguments.required
        schema["additionalProperties"] = arguments.further
        schema = self._without_undeclared(schema, operation.at)
        settled, removed = settle(schema)
        for defect in removed:
            self._notes.note(operation.at, defect.pointer, "dropped", f"{defect.problem}: {defect.message}")
        return settled

    # --- path, query, header, cookie ------------------------------------------------------------------------------

    def _declared(self, operation: Operation, arguments: _Arguments) -> None:
        found: dict[tuple[str, str], Target] = {}
        for parameter in self._listed(operation.shared, operation.shared_at):
            found[parameter[0]] = parameter[1]
        own = set()
        for key, target in self._listed(operation.value.get("parameters", []), (*operation.at, "parameters")):
            if key in own:
                self._notes.note(target.at, "name", "dropped", f"{key[1]} parameter {key[0]!r} is listed twice")
                continue
            own.add(key)
            found[key] = target
        for name in re.findall(r"\{([^{}]+)\}", operation.path):
            if (name, "path") not in found:
                schema: Schema = {"type": "string"}
                arguments.add(name, "path", schema, required=True)
                self._notes.note(operation.at, "parameters", "added", f"path parameter {name!r}, declared nowhere")
        for place in _TAKEN_IN:
            for (name, where), target in found.items():
                if where == place:
                    self._argument(name, place, target, arguments)
        for (name, where), target in found.items():
            if where not in _TAKEN_IN:
                value = target.value
                needed = isinstance(value, Mapping) and value.get("required") is True
                because = _LEFT_OUT.get(where, f"`in` is {where!r}")
                said = f"{'required' if needed else 'optional'} {where} parameter {name!r}: {because}"
                self._notes.note(target.at, "in", "dropped", said)

    def _listed(self, parameters: Json, at: Pointer) -> Iterator[tuple[tuple[str, str], Target]]:
        """((name, in), parameter) of a list."""
        if not isinstance(parameters, list):
            self._faults.note(at, f"`parameters` is {canonical_word(parameters)}; expected a list")
            return
        for index, parameter in enumerate(parameters):
            target = self._references.follow(parameter, (*at, index))
            if target is None:
                continue
            value = target.value
            name = value.get("name") if isinstance(value, Mapping) else None
            place = value.get("in") if isinstance(value, Mapping) else None
            if not isinstance(name, str) or not name or not isinstance(place, str):
                message = f"parameter {canonical_word(value)} has no `name` or no `in`"
                self._faults.note(target.at, message, "give it both, as text")
                continue
            yield (name, place), target

    def _argument(self, name: str, place: str, target: Target, arguments: _Arguments) -> None:
        value, at = target
        if not isinstance(value, Mapping):
            return
        schema = self._parameter_schema(value, at)
        words = value.get("description")
        if isinstance(words, str):
            schema["description"] = _with_format(words, schema)
        self._examples(schema, value, at)
        if value.get("deprecated") is True:
            self._notes.note((*at, "deprecated"), "deprecated", "dropped", "a mark for readers")
        required = value.get("required") is True
        if place == "path" and not required:
            required = True
            self._notes.note(at, "required", "added", f"path parameter {name!r} is always needed")
        given = arguments.add(name, place, schema, required=required)
        if given != name:
            self._renamed(at, name, given, place)

    def _renamed(self, at: Pointer, name: str, given: str, place: str) -> None:
        self._notes.note(at, "name", "renamed", f"{place} parameter {name!r} became `{given}`: the name is taken")

    def _parameter_schema(self, value: Mapping[str, Json], at: Pointer) -> Schema:
        if "schema" in value:
            return self._translator.schema(value["schema"], (*at, "schema"))
        content = value.get("content")
        if isinstance(content, Mapping) and content:
            media = self._media(content, (*at, "content"))
            return self._media_schema(content[media], (*at, "content", media))
        self._notes.note(at, "schema", "added", "no schema is given; anything is accepted")
        return {}

    def _examples(self, schema: Schema, value: Mapping[str, Json], at: Pointer) -> None:
        shown: list[Json] = []
        named = value.get("examples")
        for key, example in named.items() if isinstance(named, Mapping) else []:
            target = self._references.follow(example, (*at, "examples", key))
            if target is not None and isinstance(target.value, Mapping) and "value" in target.value:
                shown.append(target.value["value"])
        keyword = "examples" if shown else "example"
        shown = shown or ([value["example"]] if "example" in value else [])
        if shown and "examples" not in schema:
            schema["examples"] = shown
            self._notes.note((*at, keyword), keyword, "translated", "became `examples` of the schema")

    # --- body -----------------------------------------------------------------------------------------------------

    def _body(self, operation: Operation, arguments: _Arguments) -> None:
        if "requestBody" not in operation.value:
            return
        target = self._references.follow(operation.value["requestBody"], (*operation.at, "requestBody"))
        if target is None:
            return
        body, at = target
        content = body.get("content") if isinstance(body, Mapping) else None
        if not isinstance(body, Mapping) or not isinstance(content, Mapping) or not content:
            self._faults.note(at, "`requestBody` has no `content`", "give it a media type with a schema")
            return
        media = self._media(content, (*at, "content"))
        schema = self._media_schema(content[media], (*at, "content", media))
        required = body.get("required") is True
        if _is_empty_object(schema):
            self._notes.note(at, "requestBody", "dropped", "a body without properties")
            return
        if not _is_plain_object(schema):
            if isinstance(body.get("description"), str):
                schema.setdefault("description", body["description"])
            given = arguments.add(BODY, BODY, schema, required=required)
            self._notes.note(at, "requestBody", "translated", f"a body that is no plain object became `{given}`")
            return
        self._spliced(schema, at, arguments, required=required)

    def _spliced(self, schema: Schema, at: Pointer, arguments: _Arguments, *, required: bool) -> None:
        properties, needed = schema["properties"], schema.get("required", [])
        if not isinstance(properties, Mapping) or not isinstance(needed, list):
            return
        if needed and not required:
            message = "the body may be left out, so none of its properties is required"
            self._notes.note(at, "required", "widened", message)
        for name, child in properties.items():
            if not isinstance(child, dict):
                continue
            given = arguments.add(name, BODY, child, required=required and name in needed)
            if given != name:
                self._renamed(at, name, given, BODY)
        for name in needed:
            if name not in properties:
                self._notes.note(at, "required", "dropped", f"it names {canonical_word(name)}, which is not declared")
        if schema.get("additionalProperties") not in (None, False):
            arguments.further = schema["additionalProperties"]
        kept = {"type", "properties", "required", "additionalProperties", "title", "description", "examples", "default"}
        for keyword in sorted(set(schema) - kept):
            message = "it was about the body alone, whose properties stand beside others now"
            self._notes.note(at, keyword, "dropped", message)

    def _media(self, content: Mapping[str, Json], at: Pointer) -> str:
        """The media type whose schema counts: JSON, else a form, else the first."""
        names = list(content)
        json_like = [name for name in names if _JSON_MEDIA.match(name)]
        forms = [name for form in _FORM_MEDIA for name in names if name.split(";")[0].strip().lower() == form]
        chosen = (json_like or forms or names)[0]
        if len(names) > 1:
            others = ", ".join(f"`{name}`" for name in names if name != chosen)
            self._notes.note(at, "content", "chosen", f"`{chosen}`, not {others}")
        return chosen

    def _media_schema(self, media: Json, at: Pointer) -> Schema:
        if isinstance(media, Mapping) and "schema" in media:
            return self._translator.schema(media["schema"], (*at, "schema"))
        self._notes.note(at, "schema", "added", "no schema is given; anything is accepted")
        return {}

    def _without_undeclared(self, schema: Schema, at: Pointer) -> Schema:
        """The schema without required names that no property declares: a caller could not know what to send."""
        clean: Schema = {}
        for keyword, value in schema.items():
            if keyword in ("properties", "$defs") and isinstance(value, Mapping):
                clean[keyword] = {
                    name: self._without_undeclared(child, at) if isinstance(child, dict) else child
                    for name, child in value.items()
                }
            elif keyword in ("items", "additionalProperties") and isinstance(value, dict):
                clean[keyword] = self._without_undeclared(value, at)
            else:
                clean[keyword] = value
        properties, required = clean.get("properties"), clean.get("required")
        if not isinstance(properties, Mapping) or not isinstance(required, list) or "allOf" in clean:
            return clean
        for name in required:
            if name not in properties:
                self._notes.note(at, "required", "dropped", f"it names {canonical_word(name)}, which is not declared")
        kept = [name for name in required if name in properties]
        if kept:
            return {**clean, "required": kept}
        return {keyword: value for keyword, value in clean.items() if keyword != "required"}


def _is_plain_object(schema: Schema) -> bool:
    """Whether a body's properties may stand as arguments: an object with named properties, and nothing but that."""
    properties = schema.get("properties")
    types = types_of(schema)
    fits = not types or types == ["object"]
    return (
        fits and isinstance(properties, Mapping) and bool(properties) and "allOf" not in schema and not members(schema)
    )


def _is_empty_object(schema: Schema) -> bool:
    return schema.get("properties") == {} and not schema.get("additionalProperties") and "allOf" not in schema


def _with_format(description: str, schema: Schema) -> str:
    """The parameter's own description, with the format that the schema's carries."""
    inner = schema.get("description")
    found = re.search(r"Format: \S+\.\Z", inner) if isinstance(inner, str) else None
    return f"{description.rstrip()} {found.group()}" if found else description
