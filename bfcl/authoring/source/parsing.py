"""What does a Python file of a source package say, read as a syntax tree and never run? Rule: authoring.md §5."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from bfcl.errors import PackError, Problem


@dataclass(frozen=True, kw_only=True)
class Module:
    """One parsed file. `name` is relative to the source directory."""

    name: str
    data: bytes
    tree: ast.Module

    @cached_property
    def bound(self) -> frozenset[str]:
        """Every name that the file binds anywhere: such a name need not be the built-in one."""
        return frozenset(_bound_names(self.tree))

    @cached_property
    def strings(self) -> frozenset[str]:
        """Every string constant."""
        return frozenset(
            node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )


def parse_module(name: str, data: bytes, shown: str) -> Module:
    """The module of a file's bytes.

    Raises: PackError `source_encoding_invalid` where they are not UTF-8, `source_syntax_invalid` where they are no
    Python that compiles.
    """
    text = _decode(data, shown)
    with warnings.catch_warnings():
        # An invalid escape is the author's style, not a fault that stops anything.
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text, filename=shown)
            # Some faults, such as `return` outside a function, show only now. Nothing is run.
            compile(tree, shown, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise _syntax(shown, error.msg, error.lineno, error.offset) from None
        except ValueError as error:
            raise _syntax(shown, str(error), None, None) from None
        except (RecursionError, MemoryError):
            raise _syntax(shown, "nested too deep to be parsed", None, None) from None
    return Module(name=name, data=data, tree=tree)


def _syntax(shown: str, said: str, line: int | None, column: int | None) -> PackError:
    return PackError(
        Problem(code="source_syntax_invalid", path=shown, line=line, column=column, message=f"not Python: {said}")
    )


def _decode(data: bytes, shown: str) -> str:
    try:
        text = data.decode("utf-8-sig")
        # A declared encoding would be believed by Python, and no other reader of the file.
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding in ("utf-8", "utf-8-sig"):
            return text
        line, message = _coding_line(data), f"declares the encoding {encoding}; expected UTF-8"
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8"
    except SyntaxError:
        line, message = _coding_line(data), "declares an encoding that Python does not know; expected UTF-8"
    fix = "save the file as UTF-8, without a coding line"
    raise PackError(Problem(code="source_encoding_invalid", path=shown, line=line, message=message, fix=fix))


def _coding_line(data: bytes) -> int:
    """Python looks for the declaration in the first two lines only."""
    return 1 if b"coding" in data.split(b"\n", 1)[0] else 2


class BuiltinUse(NamedTuple):
    """A built-in function used by name; `called` says whether right there."""

    line: int
    name: str
    called: bool


def builtin_uses(module: Module, names: Collection[str]) -> Iterator[BuiltinUse]:
    """Calls of these names, and places where the built-in function is handed on to be called under another name."""
    called = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            called.add(node.func)
            yield BuiltinUse(node.func.lineno, node.func.id, called=True)
    for node in ast.walk(module.tree):
        handed_on = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in called
        if isinstance(node, ast.Name) and handed_on and node.id in names and node.id not in module.bound:
            yield BuiltinUse(node.lineno, node.id, called=False)


def _bound_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
