"""Which tools does `backend.py` publish, as far as its text tells? Rule: authoring.md §7."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bfcl.authoring.source.closure import BACKEND, Closure
from bfcl.authoring.source.findings import SourceFinding
from bfcl.authoring.source.parsing import Module

REQUIRED_SYMBOLS: Final = ("list_tools", "reset", "call_tool", "get_state")

_COPIES: Final = ("list", "tuple", "sorted")
_CHANGES: Final = frozenset(
    {"append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update", "add"}
)
_NESTED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def backend_findings(closure: Closure, catalog: Sequence[str]) -> Iterator[SourceFinding]:
    """Missing functions, and published names that differ from the catalog's."""
    backend = closure.module(BACKEND)
    functions = {node.name: node for node in backend.tree.body if isinstance(node, ast.FunctionDef)}
    for name in REQUIRED_SYMBOLS:
        if name not in functions:
            detail = f"`{name}` is not a function at module level, written with `def`"
            yield SourceFinding(code="backend_symbol_missing", detail=detail, file=BACKEND)
    if "list_tools" in functions:
        yield from _published(backend, functions["list_tools"], catalog)
    strings = frozenset[str]().union(*(module.strings for module in closure.modules))
    for name in catalog:
        if name not in strings:
            detail = f"the tool `{name}` is nowhere named as a string, so no call of it can be told apart"
            yield SourceFinding(code="tool_never_named", detail=detail, file=BACKEND)


def _published(backend: Module, function: ast.FunctionDef, catalog: Sequence[str]) -> Iterator[SourceFinding]:
    names = published_names(backend.tree, function)
    if names is None:
        detail = (
            "what `list_tools` returns cannot be read without running it; return a list or tuple of strings, or "
            "`list(...)` of a constant of the module"
        )
        yield SourceFinding(code="published_names_not_static", detail=detail, file=BACKEND, line=function.lineno)
        return
    faults = [
        *_named("publishes", sorted(set(names) - set(catalog)), "which the catalog does not hold"),
        *_named("leaves out", sorted(set(catalog) - set(names)), "which the catalog holds"),
        *_named("publishes", sorted({name for name in names if names.count(name) > 1}), "more than once"),
    ]
    if faults:
        detail = f"`list_tools` {'; it '.join(faults)}"
        yield SourceFinding(code="published_names_mismatch", detail=detail, file=BACKEND, line=function.lineno)


def _named(verb: str, names: Iterable[str], rest: str) -> Iterator[str]:
    listed = ", ".join(f"`{name}`" for name in names)
    if listed:
        yield f"{verb} {listed}, {rest}"


def published_names(tree: ast.Module, function: ast.FunctionDef) -> list[str] | None:
    """What `list_tools()` returns, or None where only running it would tell.

    Readable are a list or tuple of strings, a constant of the module that holds one, and `list`, `tuple` or `sorted`
    of either (there the constant may be a dict or set too). Functions nested in it have returns of their own.
    """
    if function.decorator_list:
        return None
    own = list(_own_nodes(function))
    returns = [node for node in own if isinstance(node, ast.Return)]
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own) or not returns:
        return None
    local = {node.id for node in own if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    constants = {name: value for name, value in _constants(tree).items() if name not in local}
    read = [_names(node.value, constants, copied=False) for node in returns]
    first = read[0]
    return first if first is not None and all(names == first for names in read) else None


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _NESTED):
            todo.extend(ast.iter_child_nodes(node))


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Names that the module binds once, at its top level, and never changes in place."""
    values: dict[str, ast.expr] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    values[target.id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            values[statement.target.id] = statement.value
    changes = list(_changes(tree))
    return {name: value for name, value in values.items() if changes.count(name) == 1}


def _changes(tree: ast.Module) -> Iterator[str]:
    """A name once for each place that binds it or changes what it holds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.Subscript | ast.Attribute) and _changes_value(node):
            yield from _name_of(node.value)


def _changes_value(node: ast.Subscript | ast.Attribute) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _CHANGES
    return not isinstance(node.ctx, ast.Load)


def _name_of(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id


def _names(node: ast.expr | None, constants: dict[str, ast.expr], *, copied: bool) -> list[str] | None:
    if isinstance(node, ast.Name):
        value = constants.get(node.id)
        # One look-up only: a constant made of constants would be followed for ever where they name each other.
        return None if value is None else _names(value, {}, copied=copied)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _COPIES and node.args:
        return _names(node.args[0], constants, copied=True) if len(node.args) == 1 else None
    if isinstance(node, ast.Dict) and copied:
        return _strings(node.keys)
    if isinstance(node, ast.List | ast.Tuple) or (isinstance(node, ast.Set) and copied):
        return _strings(node.elts)
    return None


def _strings(nodes: Sequence[ast.expr | None]) -> list[str] | None:
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    names = [value for value in values if isinstance(value, str)]
    return names if len(names) == len(nodes) else None
