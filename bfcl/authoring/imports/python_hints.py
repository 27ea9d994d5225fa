"""Which schema does a type hint stand for? What JSON cannot carry is a finding with its line."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from bfcl.authoring.imports.credential_forms import masked, told
from bfcl.authoring.imports.docstrings import read_docstring
from bfcl.authoring.imports.merge import Schema, members, type_value, widen
from bfcl.authoring.imports.python_classes import fields_of
from bfcl.authoring.imports.python_module import Module, NotLiteral
from bfcl.authoring.imports.report import Notes
from bfcl.canonical import Json, canonical_text
from bfcl.errors import Problem
from bfcl.pack.schema_keywords import TYPES, has_type

Place: TypeAlias = tuple[str, ...]
"""Function, parameter, then the fields that lead inside."""

_SCALARS: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null"}
_LISTS: Final = frozenset({"list", "typing.Sequence", "typing.MutableSequence", "typing.Collection", "typing.Iterable"})
_DICTS: Final = frozenset({"dict", "typing.Mapping", "typing.MutableMapping"})
_ANYTHING: Final = frozenset({"typing.Any", "object"})
_WRAPPERS: Final = frozenset({"typing.Final", "typing.Required", "typing.NotRequired", "typing.ReadOnly"})
_INSTEAD: Final = {
    "tuple": "JSON has lists only: write `list[...]`, or a dataclass with named fields",
    "set": "JSON has no sets: write `list[...]`",
    "frozenset": "JSON has no sets: write `list[...]`",
    "typing.AbstractSet": "JSON has no sets: write `list[...]`",
    "bytes": "JSON has no bytes: write `str`",
    "complex": "JSON has no complex numbers: write two `float` parameters",
    "datetime.date": "JSON has no dates: write `str` and tell the form in the docstring",
    "datetime.datetime": "JSON has no times: write `str` and tell the form in the docstring",
    "datetime.time": "JSON has no times: write `str` and tell the form in the docstring",
    "datetime.timedelta": "JSON has no durations: write `float` and tell the unit in the docstring",
    "decimal.Decimal": "JSON has no decimals: write `float` or `str`",
    "uuid.UUID": "JSON has no UUIDs: write `str`",
    "pathlib.Path": "JSON has no paths: write `str`",
}
_FIX: Final = (
    "use str, int, float, bool, list, dict, Literal, an Enum, a dataclass, a TypedDict or a pydantic model of this file"
)


class Hints:
    """Reads the hints of one file. `findings` and notices collect over all of them."""

    def __init__(self, module: Module, path: str) -> None:
        self.module = module
        self.findings: list[Problem] = []
        self.lines: dict[Place, int] = {}
        """Where each place that left a notice stands."""
        self.path = path
        self._open: list[str] = []

    def refuse(self, node: ast.expr | ast.arg | ast.stmt, place: Place, message: str, fix: str | None = _FIX) -> Schema:
        """Note a finding; the harmless empty schema goes on."""
        self.findings.append(
            Problem(
                code="unsupported_hint",
                path=self.path,
                line=node.lineno,
                column=node.col_offset + 1,
                field=".".join(place),
                message=f"`{'.'.join(place)}`: {masked(message)}",
                fix=fix,
            )
        )
        return {}

    def schema(self, node: ast.expr, place: Place, notes: Notes) -> Schema:
        """The schema of a hint."""
        self.lines.setdefault(place, node.lineno)
        if isinstance(node, ast.Constant):
            if node.value is None:
                return {"type": "null"}
            if isinstance(node.value, str):
                return self._quoted(node, node.value, place, notes)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._union(node, [node.left, node.right], place, notes)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, place, notes)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(node, place, notes)
        return self.refuse(node, place, f"`{ast.unparse(node)}` is no type hint")

    def _quoted(self, node: ast.Constant, text: str, place: Place, notes: Notes) -> Schema:
        try:
            inner = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return self.refuse(node, place, f"{told('', text)} is no type hint")
        for each in ast.walk(inner):
            if isinstance(each, ast.expr):
                each.lineno, each.col_offset = node.lineno, node.col_offset
        return self.schema(inner, place, notes)

    def _named(self, node: ast.Name | ast.Attribute, place: Place, notes: Notes) -> Schema:
        name = self.module.dotted(node)
        if name in self.module.classes:
            return self._inside(name, node, place, lambda: self._class(name, node, place, notes))
        if name in self.module.values:
            return self._inside(name, node, place, lambda: self._alias(name, node, place, notes))
        if name in _SCALARS:
            return {"type": _SCALARS[name]}
        if name in _ANYTHING:
            return {}
        if name in _LISTS:
            return {"type": "array"}
        if name in _DICTS:
            return {"type": "object"}
        return self._unknown(node, name, place)

    def _unknown(self, node: ast.expr, name: str, place: Place) -> Schema:
        said = f"the hint `{ast.unparse(node)}` has no JSON form that can be told from this file"
        return self.refuse(node, place, said, _INSTEAD.get(name, _FIX))

    def _inside(self, name: str, node: ast.expr, place: Place, read: Callable[[], Schema]) -> Schema:
        if name in self._open:
            return self.refuse(node, place, f"`{name}` contains itself", "flatten it; schemas may not be recursive")
        self._open.append(name)
        try:
            return read()
        finally:
            self._open.pop()

    def _alias(self, name: str, node: ast.expr, place: Place, notes: Notes) -> Schema:
        value = self.module.values[name]
        if isinstance(value, ast.Call):
            if self.module.dotted(value.func) == "typing.NewType" and len(value.args) == 2:
                return self.schema(value.args[1], place, notes)
            return self._unknown(node, name, place)
        return self.schema(value, place, notes)

    # --- hints with arguments -------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript, place: Place, notes: Notes) -> Schema:
        name = self.module.dotted(node.value)
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "typing.Literal":
            return self._literal(node, inner, place)
        if name == "typing.Annotated":
            return self._annotated(inner, place, notes)
        if name == "typing.Optional":
            return self._union(node, [*inner, ast.copy_location(ast.Constant(None), node)], place, notes)
        if name == "typing.Union":
            return self._union(node, inner, place, notes)
        if name in _WRAPPERS and len(inner) == 1:
            return self.schema(inner[0], place, notes)
        if name in _LISTS and len(inner) == 1:
            return {"type": "array", "items": self.schema(inner[0], (*place, "[]"), notes)}
        if name in _DICTS and len(inner) == 2:
            if self.module.dotted(inner[0]) != "str" and not _is_text(inner[0], "str"):
                return self.refuse(inner[0], place, f"keys are `{ast.unparse(inner[0])}`; JSON keys are text", None)
            return {"type": "object", "additionalProperties": self.schema(inner[1], (*place, "{}"), notes)}
        return self._unknown(node, name, place)

    def _literal(self, node: ast.Subscript, inner: Sequence[ast.expr], place: Place) -> Schema:
        values: dict[str, Json] = {}
        for each in inner:
            if isinstance(each, ast.Subscript) and self.module.dotted(each.value) == "typing.Literal":
                nested = list(each.slice.elts) if isinstance(each.slice, ast.Tuple) else [each.slice]
                listed = members(self._literal(each, nested, place)) or []
                values |= {canonical_text(value): value for value in listed}
                continue
            try:
                value = self.module.literal(each)
            except NotLiteral:
                self.refuse(each, place, f"`{ast.unparse(each)}` is no literal", "list text, numbers, true or false")
                continue
            values[canonical_text(value)] = value
        return _enum(list(values.values())) if values else self.refuse(node, place, "an empty Literal", None)

    def _annotated(self, inner: Sequence[ast.expr], place: Place, notes: Notes) -> Schema:
        schema = self.schema(inner[0], place, notes)
        words = None
        for extra in inner[1:]:
            found = _words(extra)
            if found is None:
                said = f"`{ast.unparse(extra)}` beside the hint is not understood"
                notes.note(place, "Annotated", "dropped", said)
            words = words or found
        return {**schema, "description": words} if words else schema

    def _union(self, node: ast.expr, parts: Sequence[ast.expr], place: Place, notes: Notes) -> Schema:
        joined = widen([self.schema(part, place, notes) for part in self._flat(parts)])
        if not joined.exact and joined.schema.get("type") != "number":
            said = f"`{ast.unparse(node)}` became one schema that accepts mixtures of its members"
            notes.note(place, "Union", "widened", said)
        if joined.narrowed:
            said = f"`{ast.unparse(node)}`: a field that one member describes is checked in the others too"
            notes.note(place, "Union", "narrowed", said)
        return joined.schema

    def _flat(self, parts: Sequence[ast.expr]) -> Iterator[ast.expr]:
        for part in parts:
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr):
                yield from self._flat([part.left, part.right])
            else:
                yield part

    # --- classes of the file --------------------------------------------------------------------------------------

    def _class(self, name: str, node: ast.expr, place: Place, notes: Notes) -> Schema:
        cls = self.module.classes[name]
        if self.module.is_enum(cls):
            return self._enum_class(cls, node, place)
        fields = fields_of(self.module, cls)
        if fields is None:
            said = f"`{name}` is no Enum, dataclass, TypedDict or pydantic model"
            return self.refuse(node, place, said, f"make `{name}` a dataclass or a TypedDict")
        for parent in fields.unknown:
            said = f"`{cls.name}` inherits `{ast.unparse(parent)}`, which this file does not define"
            self.refuse(parent, place, said, None)
        properties: Schema = {}
        for field in fields.known.values():
            where = (*place, field.name)
            schema = self.schema(field.hint, where, notes)
            if field.words and "description" not in schema:
                schema = {**schema, "description": field.words}
            if field.default is not None:
                schema = self.with_default(schema, field.default, where, notes)
            for keyword in field.ignored:
                notes.note(where, keyword, "dropped", f"`{keyword}` of the field is not carried over")
            properties[field.name] = schema
        required: list[Json] = [field.name for field in fields.known.values() if field.required]
        words = read_docstring(ast.get_docstring(cls)).description
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
            **({"description": words} if words else {}),
        }

    def _enum_class(self, cls: ast.ClassDef, node: ast.expr, place: Place) -> Schema:
        values: dict[str, Json] = {}
        for member, value in self.module.members(cls):
            if value is None:
                said = f"the value of `{cls.name}.{member}` cannot be told without running the file"
                self.refuse(node, place, said, "give every member a literal value")
            else:
                values.setdefault(canonical_text(value[0]), value[0])
        return (
            _enum(list(values.values())) if values else self.refuse(node, place, f"`{cls.name}` has no members", None)
        )

    def with_default(self, schema: Schema, value: ast.expr, place: Place, notes: Notes) -> Schema:
        """The schema with a default that can be told without running the file; None makes it admit null."""
        self.lines.setdefault(place, value.lineno)
        try:
            default = self.module.literal(value)
        except NotLiteral:
            said = f"`{ast.unparse(value)}` is no literal; the value stays optional without a default"
            notes.note(place, "default", "dropped", said)
            return schema
        if default is None:
            schema = _with_null(schema, place, notes)
        return {**schema, "default": default}


def _with_null(schema: Schema, place: Place, notes: Notes) -> Schema:
    declared, values = schema.get("type"), schema.get("enum")
    types = [declared] if isinstance(declared, str) else list(declared) if isinstance(declared, list) else []
    if not types or "null" in types:
        return schema
    notes.note(place, "default", "added", "the default is None, so null is accepted though the hint leaves it out")
    listed: Schema = {"enum": [*values, None]} if isinstance(values, list) else {}
    return {**schema, "type": [*types, "null"], **listed}


def _enum(values: Sequence[Json]) -> Schema:
    order = ("string", "boolean", "integer", "number", "null", "array", "object")
    names = dict.fromkeys(next(name for name in order if has_type(value, name)) for value in values)
    kinds = [name for name in names if name in TYPES]
    return {"type": type_value(sorted(kinds, key=lambda name: name == "null")), "enum": list(values)}


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _words(node: ast.expr) -> str | None:
    """The description that an extra argument of `Annotated` gives: text, `Doc("...")`, `Field(description="...")`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Call):
        given = [each.value for each in node.keywords if each.arg == "description"]
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given += node.args[:1] if called == "Doc" else []
        for each in given:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                return each.value
    return None
