"""What does a Python file define at its top level, and what does each name in it stand for? Read, not run."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bfcl.canonical import Json
from bfcl.errors import PackError, Problem

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"

_SAME = {
    "typing.List": "list",
    "typing.Dict": "dict",
    "typing.Tuple": "tuple",
    "typing.Set": "set",
    "typing.FrozenSet": "frozenset",
    "typing.Text": "str",
}


class NotLiteral(Exception):
    """An expression has no value that can be told without running it, or none that JSON has."""


@dataclass(slots=True)
class Module:
    """The top level of a file. Of several definitions of a name the last one counts, as when Python runs it."""

    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)
    """Names assigned once by a plain statement: constants and type aliases."""
    imports: dict[str, str] = field(default_factory=dict)
    """Name to the dotted name it was imported as."""

    def dotted(self, node: ast.expr) -> str:
        """What a name stands for: `list`, `typing.Optional`, `datetime.date`; empty for other expressions.

        `typing_extensions` and `collections.abc` count as `typing`; the capital forms as the builtin they name.
        """
        if isinstance(node, ast.Attribute):
            left = self.dotted(node.value)
            name = f"{left}.{node.attr}" if left else ""
        elif isinstance(node, ast.Name):
            own = node.id in self.classes or node.id in self.values
            name = node.id if own else self.imports.get(node.id, node.id)
        else:
            return ""
        for other in ("typing_extensions.", "collections.abc."):
            if name.startswith(other):
                name = "typing." + name.removeprefix(other)
        return _SAME.get(name, name)

    def is_enum(self, cls: ast.ClassDef) -> bool:
        return any(self.dotted(parent).startswith("enum.") for parent in cls.bases)

    def literal(self, node: ast.expr) -> Json:
        """The JSON value of a literal, a constant of the file or an enum member. Raises: NotLiteral."""
        seen: set[str] = set()
        while isinstance(node, ast.Name) and node.id in self.values:
            if node.id in seen:
                raise NotLiteral
            seen.add(node.id)
            node = self.values[node.id]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.classes:
            cls = self.classes[node.value.id]
            if self.is_enum(cls):
                for name, value in self.members(cls):
                    if name == node.attr and value is not None:
                        return value[0]
        try:
            return _as_json(ast.literal_eval(node))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise NotLiteral from None

    def members(self, cls: ast.ClassDef) -> Iterator[tuple[str, tuple[Json] | None]]:
        """(name, (value,)) of an enum's members in order; None for a value that cannot be told."""
        texts = any(self.dotted(parent) == "enum.StrEnum" for parent in cls.bases)
        for statement in cls.body:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            target, value = statement.targets[0], statement.value
            if not isinstance(target, ast.Name) or target.id.startswith("_"):
                continue
            if isinstance(value, ast.Call) and self.dotted(value.func) == "enum.auto" and texts:
                yield target.id, (target.id.lower(),)
                continue
            try:
                yield target.id, (self.literal(value),)
            except NotLiteral:
                yield target.id, None


def _as_json(value: object) -> Json:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str(key): _as_json(each) for key, each in value.items()}
    raise ValueError("no JSON value")


def read_module(data: bytes, *, path: str) -> Module:
    """Parse a file without importing it.

    Raises: PackError `import_source_invalid` with line and column where it is no Python.
    """
    try:
        tree = ast.parse(data, filename=path)
    except (MemoryError, RecursionError):
        raise too_deep(_deepest_line(data), path=path) from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        message = f"not Python: {said}"
        column = getattr(error, "offset", None) or None
        raise PackError(
            Problem(code="import_source_invalid", path=path, line=line, column=column, message=message)
        ) from None
    module = Module()
    for statement in tree.body:
        try:
            _collect([statement], module, top=True)
        except RecursionError:
            raise too_deep(statement.lineno, path=path) from None
    return module


def too_deep(line: int, *, path: str) -> PackError:
    """For an expression that neither Python's parser nor this reader can hold."""
    message = "what stands here is nested too deeply to be read"
    fix = "give its parts names of their own, or leave it out of the file"
    return PackError(Problem(code="import_source_invalid", path=path, line=line, message=message, fix=fix))


def _deepest_line(data: bytes) -> int:
    """Where the parser gives up: the first line at which what stands up to there is already too much for it."""
    lines = data.splitlines(keepends=True)
    return bisect.bisect_left(range(1, len(lines)), 1, key=lambda count: _overflows(b"".join(lines[:count]))) + 1


def _overflows(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (MemoryError, RecursionError):
        return True
    except (SyntaxError, ValueError):
        return False
    return False


def _collect(body: Sequence[ast.stmt], module: Module, *, top: bool) -> None:
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                bound = alias.asname or alias.name.split(".")[0]
                module.imports[bound] = alias.name if alias.asname else bound
        elif isinstance(statement, ast.ImportFrom):
            source = "." * statement.level + (statement.module or "")
            for alias in statement.names:
                module.imports[alias.asname or alias.name] = f"{source}.{alias.name}"
        elif isinstance(statement, ast.If | ast.Try):
            # Imports for type checkers and fallbacks for old versions stand here.
            blocks = [statement.body, statement.orelse]
            if isinstance(statement, ast.Try):
                blocks += [handler.body for handler in statement.handlers]
            for block in reversed(blocks):
                _collect(block, module, top=False)
        elif top:
            _define(statement, module)


def _define(statement: ast.stmt, module: Module) -> None:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        if not any(module.dotted(each) == "typing.overload" for each in statement.decorator_list):
            module.functions[statement.name] = statement
    elif isinstance(statement, ast.ClassDef):
        module.classes[statement.name] = statement
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                module.values[target.id] = statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        module.values[ast.unparse(statement.target)] = statement.value
