"""Which fields does a dataclass, TypedDict or pydantic model of a Python file have? Read, not run."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.authoring.imports.docstrings import read_docstring
from bfcl.authoring.imports.python_module import Module

_Kind: TypeAlias = Literal["dataclass", "typeddict", "model"]

_MODEL: Final = "pydantic.BaseModel"
_FIELDS: Final = frozenset({"dataclasses.field", "pydantic.Field"})
_READ: Final = frozenset({"default", "default_factory", "description", "init"})
"""Keywords of `field(...)` and `Field(...)` that are carried over."""
_SILENT: Final = frozenset({"repr", "hash", "compare", "kw_only", "frozen"})
"""Keywords that say nothing about what a caller may send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassField:
    """One field. `default` is None where there is none that can be read; `required` says whether it must be given."""

    name: str
    hint: ast.expr
    required: bool
    default: ast.expr | None
    words: str | None
    ignored: tuple[str, ...] = ()
    """Keywords of its `field(...)` or `Field(...)` that are not carried over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFields:
    """The fields in order, inherited ones first, and the parents that the file does not define."""

    known: dict[str, ClassField]
    unknown: list[ast.expr]


def fields_of(module: Module, cls: ast.ClassDef) -> ClassFields | None:
    """The fields of a dataclass, TypedDict or pydantic model with those it inherits; None for any other class."""
    if _kind(module, cls, ()) is None:
        return None
    found = ClassFields(known={}, unknown=[])
    _gather(module, cls, found, ())
    return found


def _kind(module: Module, cls: ast.ClassDef, seen: tuple[str, ...]) -> _Kind | None:
    """What a class is, by itself or through a parent in the file."""
    for decorator in cls.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.dotted(called) == "dataclasses.dataclass":
            return "dataclass"
    for parent in cls.bases:
        name = module.dotted(parent)
        if name == "typing.TypedDict":
            return "typeddict"
        if name == _MODEL:
            return "model"
        if name in module.classes and name not in (*seen, cls.name):
            found = _kind(module, module.classes[name], (*seen, cls.name))
            if found is not None:
                return found
    return None


def _gather(module: Module, cls: ast.ClassDef, into: ClassFields, seen: tuple[str, ...]) -> None:
    for parent in reversed(cls.bases):
        name = module.dotted(parent.value if isinstance(parent, ast.Subscript) else parent)
        if name in module.classes:
            if name not in (*seen, cls.name):
                _gather(module, module.classes[name], into, (*seen, cls.name))
        elif name not in ("typing.TypedDict", "typing.Generic", "typing.Protocol", "object", _MODEL):
            into.unknown.append(parent)
    kind = _kind(module, cls, ())
    typed_dict = kind == "typeddict"
    docs = read_docstring(ast.get_docstring(cls)).parameters
    for index, statement in enumerate(cls.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name, hint, value = statement.target.id, statement.annotation, statement.value
        head = module.dotted(hint.value if isinstance(hint, ast.Subscript) else hint)
        if head == "typing.ClassVar" or _keyword(value, "init") is False or (kind == "model" and name.startswith("_")):
            continue
        if head in ("typing.Required", "typing.NotRequired"):
            required = head == "typing.Required"
        else:
            required = _is_total(cls) if typed_dict else not _has_default(module, value)
        into.known[name] = ClassField(
            name=name,
            hint=hint,
            required=required,
            default=None if typed_dict else _default(module, value),
            words=docs.get(name) or _description(module, value) or _text_below(cls.body, index),
            ignored=_ignored(module, value),
        )


def _is_total(cls: ast.ClassDef) -> bool:
    return not any(
        each.arg == "total" and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in cls.keywords
    )


def _field(module: Module, value: ast.expr | None) -> ast.Call | None:
    """The call of `field` or `Field` that stands where a default would."""
    return value if isinstance(value, ast.Call) and module.dotted(value.func) in _FIELDS else None


def _has_default(module: Module, value: ast.expr | None) -> bool:
    field = _field(module, value)
    if field is None:
        return value is not None and not _is_ellipsis(value)
    return _default(module, value) is not None or any(each.arg == "default_factory" for each in field.keywords)


def _default(module: Module, value: ast.expr | None) -> ast.expr | None:
    """The default that is written down. A model's `...` says that there is none."""
    field = _field(module, value)
    if field is not None:
        given = [*field.args[:1], *(each.value for each in field.keywords if each.arg == "default")]
        value = given[0] if given else None
    return None if value is None or _is_ellipsis(value) else value


def _is_ellipsis(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is ...


def _description(module: Module, value: ast.expr | None) -> str | None:
    words = _keyword(_field(module, value), "description")
    return words if isinstance(words, str) else None


def _ignored(module: Module, value: ast.expr | None) -> tuple[str, ...]:
    field = _field(module, value)
    keywords = [each.arg or "**" for each in field.keywords] if field is not None else []
    return tuple(name for name in keywords if name not in _READ | _SILENT)


def _keyword(value: ast.expr | None, name: str) -> object:
    """The constant given for a keyword of a call; None where there is none."""
    for each in value.keywords if isinstance(value, ast.Call) else []:
        if each.arg == name and isinstance(each.value, ast.Constant):
            return each.value.value
    return None


def _text_below(body: Sequence[ast.stmt], index: int) -> str | None:
    """The docstring under a field."""
    below = body[index + 1] if index + 1 < len(body) else None
    if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
        return read_docstring(below.value.value).description or None
    return None
