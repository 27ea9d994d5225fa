"""What do `backend.py` and `assertions.py` define, as far as their syntax tree tells? Nothing is executed.

What the tree leaves open (a star import, a computed table, a decorator) is reported as unknown, never guessed, so a
static check says nothing that importing the module would contradict.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from bfcl.oracle.describing import TABLE, missing_callables, signature_problem, table_problem
from bfcl.oracle.protocol import AssertionInfo

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_DYNAMIC: Final = frozenset({"exec", "eval", "globals", "vars", "setattr", "locals"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A module that does not compile: what Python says of it, and where."""

    message: str
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The names a module binds at its top level, in order, and the statement or function behind each."""

    bound: Mapping[str, ast.AST]
    rebound: frozenset[str]
    """Names bound more than once, or changed after they were bound: their value is not known."""
    open: bool
    """Whether the module may bind names that its tree does not show."""


def read_outline(source: bytes) -> Outline | Unreadable:
    """The outline of a module, or why Python cannot compile it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            compile(tree, "<pack>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return Unreadable(message=f"SyntaxError: {error.msg}", line=error.lineno, column=error.offset)
    except (ValueError, RecursionError, MemoryError) as error:
        return Unreadable(message=f"{type(error).__name__}: {error}", line=None, column=None)
    bound: dict[str, ast.AST] = {}
    rebound: set[str] = set()
    for name, node in _bindings(tree.body):
        if name in bound:
            rebound.add(name)
        bound[name] = node
    return Outline(bound=bound, rebound=frozenset(rebound | _changed(tree)), open=_is_open(tree))


def line_of(source: bytes, name: str) -> int | None:
    """Where a module last binds a name at its top level; None where its tree does not show it."""
    outline = read_outline(source)
    if isinstance(outline, Unreadable):
        return None
    return getattr(outline.bound.get(name), "lineno", None)


# --- the backend ----------------------------------------------------------------------------------------------------


def lacking_callables(outline: Outline) -> tuple[str, ...]:
    """The contract's callables that the backend certainly lacks or misdefines."""
    return tuple(name for name in missing_callables(_Stand(outline)) if name in outline.bound or not outline.open)


class _Stand:
    """Stands in for the imported module: an attribute is whatever can be told of its signature."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline

    def __getattr__(self, name: str) -> Any:
        node = self._outline.bound.get(name)
        if node is None:
            raise AttributeError(name)
        if name in self._outline.rebound:
            return _unknown
        return _callable(node)


def listed_tools(outline: Outline) -> tuple[str, ...] | None:
    """The names that `list_tools` returns, where it returns a literal or one bound at top level."""
    function = outline.bound.get("list_tools")
    if not isinstance(function, ast.FunctionDef) or function.decorator_list or "list_tools" in outline.rebound:
        return None
    body = [one for one in function.body if not _is_docstring(one)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    names = _names(body[0].value, outline)
    return None if names is None or len(set(names)) != len(names) else names


def _names(node: ast.expr, outline: Outline) -> tuple[str, ...] | None:
    """The texts of a literal list, of a dict's keys, of a copy of either, or of a name bound to one."""
    match node:
        case ast.List(elts=[ast.Starred(value=inner)]):
            return _names(inner, outline)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            texts = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            return tuple(texts) if len(texts) == len(items) else None
        case ast.Dict(keys=keys):
            texts = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            return tuple(texts) if len(texts) == len(keys) else None
        case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple" as copier), args=[inner], keywords=[]):
            return None if copier in outline.bound else _names(inner, outline)
        case ast.Name(id=name) if name not in outline.rebound:
            value = _assigned(outline.bound.get(name))
            return None if value is None or isinstance(value, ast.Name) else _names(value, outline)
    return None


# --- the assertions -------------------------------------------------------------------------------------------------


def exported_assertions(outline: Outline) -> tuple[AssertionInfo, ...] | None:
    """The assertions that the module exports, in order; None where that cannot be told. Rule: pack.md §9."""
    if outline.open or TABLE in outline.rebound:
        return None
    if TABLE not in outline.bound:
        names = [name for name in outline.bound if name.startswith("assert_")]
        return tuple(_info(name, outline, name) for name in names if _may_be_called(outline.bound[name]))
    table = _assigned(outline.bound[TABLE])
    kind = _literal_type(table)
    if kind is not None:
        line = getattr(outline.bound[TABLE], "lineno", None)
        return (AssertionInfo(name=TABLE, signature_problem=table_problem(kind), line=line),)
    if not isinstance(table, ast.Dict):
        return None
    found: dict[str, AssertionInfo] = {}
    for key, value in zip(table.keys, table.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Name)):
            return None
        found[key.value] = _info(key.value, outline, value.id)
    return tuple(found.values())


def _info(name: str, outline: Outline, bound_as: str) -> AssertionInfo:
    node = outline.bound.get(bound_as)
    known = isinstance(node, _FUNCTIONS) and bound_as not in outline.rebound
    problem = signature_problem(_callable(node) or _unknown) if known else None
    return AssertionInfo(
        name=name, signature_problem=problem, line=node.lineno if isinstance(node, _FUNCTIONS) else None
    )


def _literal_type(value: ast.expr | None) -> str | None:
    """The name of the type of a value that is certainly no dictionary; None where it may be one."""
    match value:
        case ast.Constant(value=constant):
            return type(constant).__name__
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Tuple():
            return "tuple"
        case ast.JoinedStr():
            return "str"
    return None


def _may_be_called(node: ast.AST) -> bool:
    value = _assigned(node)
    return not isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Tuple | ast.Set | ast.JoinedStr)


# --- signatures -----------------------------------------------------------------------------------------------------

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _unknown(*_: object, **__: object) -> None:
    """A callable of which nothing is known, so it takes anything."""


def _callable(node: ast.AST | None) -> Callable[..., Any] | None:
    """Something with the signature of what `node` binds; None where that certainly cannot be called."""
    if isinstance(node, _FUNCTIONS):
        return _unknown if node.decorator_list else _with_signature(node)
    return _unknown if node is not None and _may_be_called(node) else None


def deferring(outline: Outline) -> Mapping[str, str]:
    """The functions of a module that run nothing when they are called, and how they are written."""
    return {
        name: "is an `async def`" if isinstance(node, ast.AsyncFunctionDef) else "holds `yield`"
        for name, node in outline.bound.items()
        if isinstance(node, _FUNCTIONS) and not node.decorator_list and _defers(node)
    }


def _defers(node: _Function) -> bool:
    """Whether calling the function only makes a coroutine or a generator."""
    if isinstance(node, ast.AsyncFunctionDef):
        return True
    todo: list[ast.AST] = list(node.body)
    while todo:
        inner = todo.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(inner, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(inner))
    return False


def _with_signature(node: _Function) -> Callable[..., Any]:
    def stand(*_: object, **__: object) -> None: ...

    async def later(*_: object, **__: object) -> None: ...

    def one_by_one(*_: object, **__: object) -> Iterator[None]:
        yield

    entry: Any = stand
    if _defers(node):
        entry = later if isinstance(node, ast.AsyncFunctionDef) else one_by_one
    arguments = node.args
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    parameters = [
        kinds(
            one.arg,
            kinds.POSITIONAL_ONLY if index < len(arguments.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD,
            default=kinds.empty if index < first_default else None,
        )
        for index, one in enumerate(positional)
    ]
    if arguments.vararg is not None:
        parameters.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    parameters += [
        kinds(one.arg, kinds.KEYWORD_ONLY, default=kinds.empty if default is None else None)
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        parameters.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    entry.__signature__ = inspect.Signature(parameters)
    return cast("Callable[..., Any]", entry)


# --- names ----------------------------------------------------------------------------------------------------------


def _assigned(node: ast.AST | None) -> ast.expr | None:
    """The value of an assignment to one name."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return node.value
    return None


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _bindings(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """(name, what binds it) for every name that statements of one level bind, those inside `if` and its like too."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, statement
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    yield (alias.asname or alias.name.split(".")[0]), statement
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                yield name, statement
            case _:
                for inner in ast.walk(statement) if not _has_body(statement) else ():
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id, inner
                if _has_body(statement):
                    yield from _nested(statement)


def _has_body(statement: ast.stmt) -> bool:
    return hasattr(statement, "body") or isinstance(statement, ast.Match)


def _nested(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Names that a compound statement may bind; whether it does is not known, so each counts as bound to anything."""
    for inner in ast.walk(statement):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id, inner
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inner.name, ast.copy_location(ast.Pass(), inner)
        elif isinstance(inner, ast.alias):
            yield (inner.asname or inner.name.split(".")[0]), inner


def _changed(tree: ast.Module) -> frozenset[str]:
    """Names bound anew from inside a function, and names whose object somebody else may change in place."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Global(names=names):
                found.update(names)
            case ast.AugAssign(target=ast.Name(id=name)) | ast.Assign(value=ast.Name(id=name)):
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Del()):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute not in _READING_METHODS:
                found.add(name)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                if not (isinstance(function, ast.Name) and function.id in _READERS):
                    given = (*arguments, *(keyword.value for keyword in keywords))
                    found.update(one.id for one in given if isinstance(one, ast.Name))
    return frozenset(found)


_READING_METHODS: Final = frozenset(("get", "items", "keys", "values", "index", "count", "copy"))
_READERS: Final = frozenset(("list", "sorted", "tuple", "set", "frozenset", "dict", "len", "enumerate", "str", "repr"))


def _is_open(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                return True
            case ast.Call(func=ast.Name(id=name)) if name in _DYNAMIC:
                return True
            case ast.Attribute(attr="modules", value=ast.Name(id="sys")):
                return True
            case ast.FunctionDef(name="__getattr__"):
                return True
    return False
