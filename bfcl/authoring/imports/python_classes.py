"""Which fields does a dataclass or TypedDict of a Python file have? Read, not run."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bfcl.authoring.imports.docstrings import read_docstring
from bfcl.authoring.imports.python_module import Module


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassField:
    """One field. `default` is None where there is none that can be read; `required` says whether it must be given."""

    name: str
    hint: ast.expr
    required: bool
    default: ast.expr | None
    words: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFields:
    """The fields in order, inherited ones first, and the parents that the file does not define."""

    known: dict[str, ClassField]
    unknown: list[ast.expr]


def fields_of(module: Module, cls: ast.ClassDef) -> ClassFields | None:
    """The fields of a dataclass or TypedDict with those it inherits; None for any other class."""
    if _kind(module, cls, ()) is None:
        return None
    found = ClassFields(known={}, unknown=[])
    _gather(module, cls, found, ())
    return found


def _kind(module: Module, cls: ast.ClassDef, seen: tuple[str, ...]) -> Literal["dataclass", "typeddict"] | None:
    """What a class is, by itself or through a parent in the file."""
    for decorator in cls.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.dotted(called) == "dataclasses.dataclass":
            return "dataclass"
    for parent in cls.bases:
        name = module.dotted(parent)
        if name == "typing.TypedDict":
            return "typeddict"
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
        elif name not in ("typing.TypedDict", "typing.Generic", "typing.Protocol", "object"):
            into.unknown.append(parent)
    typed_dict = _kind(module, cls, ()) == "typeddict"
    docs = read_docstring(ast.get_docstring(cls)).parameters
    for index, statement in enumerate(cls.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name, hint, value = statement.target.id, statement.annotation, statement.value
        head = module.dotted(hint.value if isinstance(hint, ast.Subscript) else hint)
        if head == "typing.ClassVar" or _keyword(value, "init") is False:
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
            words=docs.get(name) or _text_below(cls.body, index),
        )


def _is_total(cls: ast.ClassDef) -> bool:
    return not any(
        each.arg == "total" and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in cls.keywords
    )


def _is_field(module: Module, value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and module.dotted(value.func) == "dataclasses.field"


def _has_default(module: Module, value: ast.expr | None) -> bool:
    if _is_field(module, value) and isinstance(value, ast.Call):
        return any(each.arg in ("default", "default_factory") for each in value.keywords)
    return value is not None


def _default(module: Module, value: ast.expr | None) -> ast.expr | None:
    if _is_field(module, value) and isinstance(value, ast.Call):
        return next((each.value for each in value.keywords if each.arg == "default"), None)
    return value


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
