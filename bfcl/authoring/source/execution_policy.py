"""Does a source package keep to `bfcl-local-least-privilege-v1`, and what may it do instead? Rule: authoring.md §5.

The policy is enforced on the syntax tree. Some of its bans are blanket and hit harmless code, such as a method of your
own named `run`: the finding then says how to write the same thing so that it is permitted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bfcl.authoring.source.findings import SourceFinding
from bfcl.authoring.source.parsing import Module, builtin_uses

POLICY: Final = "bfcl-local-least-privilege-v1"

PERMITTED_MODULES: Final = frozenset(
    {
        *("__future__", "bisect", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions"),
        *("functools", "heapq", "itertools", "json", "math", "operator", "random", "re", "statistics", "string"),
        *("time", "typing"),
    }
)

_FIXTURES: Final = "rows of `fixtures.json` arrive in `reset`"
_RESULT: Final = "what a reader should know belongs in the result"
_ONE_BY_ONE: Final = "calls arrive one after the other, so plain functions do"
_DATA: Final = "keep data as plain dicts and lists"
_IDENTITY: Final = "count in the state, or draw from `random.Random(ctx.seed)`"

_INSTEAD_OF_MODULES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("os", "io", "pathlib", "shutil", "tempfile", "glob", "csv", "sqlite3", "configparser"), _FIXTURES),
    **dict.fromkeys(("requests", "httpx", "urllib", "http", "socket", "ssl", "ftplib", "smtplib"), _FIXTURES),
    **dict.fromkeys(("logging", "warnings", "traceback", "pprint"), _RESULT),
    **dict.fromkeys(("threading", "asyncio", "multiprocessing", "concurrent", "queue", "sched"), _ONE_BY_ONE),
    **dict.fromkeys(("pickle", "marshal", "shelve", "copyreg"), "`json` and `copy.deepcopy`"),
    **dict.fromkeys(("uuid", "secrets"), _IDENTITY),
    **dict.fromkeys(("numpy", "scipy"), "`math` and `statistics`"),
    **dict.fromkeys(("pandas", "polars", "pydantic", "attr", "attrs"), _DATA),
    **dict.fromkeys(("calendar", "zoneinfo", "dateutil", "pytz"), "`datetime`, with `datetime.timezone`"),
    "abc": "`typing.Protocol`, or no base class",
    "array": "a list",
    "contextlib": "`try` and `finally`",
    "hashlib": "compare the values themselves, or number them in the state",
    "importlib": "an ordinary import at the top of the file",
    "inspect": "a dict from names to functions",
    "numbers": "`isinstance(value, (int, float))`",
    "subprocess": "compute the answer in Python",
    "sys": "nothing of the interpreter is needed to answer a call",
    "textwrap": "`str` methods and `string`",
    "types": "`dataclasses`",
    "typing_extensions": "`typing`",
    "unicodedata": "`str.casefold` and `re`",
    "weakref": "keep what belongs together in one dict",
    "yaml": "`json`",
}

_INSTEAD_OF_CALLS: Final[Mapping[str, str]] = {
    "breakpoint": "remove it",
    "compile": "a dict from names to functions",
    "eval": "a dict from names to functions, `json.loads` for data",
    "exec": "a dict from names to functions",
    "getattr": "`thing.name` where the name is known, a dict from names to functions where it is not",
    "globals": "a dict of your own",
    "input": "the call's `arguments`",
    "locals": "a dict of your own",
    "open": _FIXTURES,
    "setattr": "`thing.name = value` where the name is known, a dict where it is not",
    "vars": "a dict of your own",
}
"""Built-in functions that may not be called."""

_INSTEAD_OF_METHODS: Final[Mapping[str, str]] = {
    "fork": "split",
    "open": "unlock",
    "popen": "perform",
    "run": "perform",
    "spawn": "create",
    "system": "perform",
}
"""Methods that may not be called; the value is a name that a method of one's own may have."""


def policy_findings(module: Module, local: Iterable[str]) -> Iterator[SourceFinding]:
    """Every `execution_policy_violation` of a file. `local` are the first names of modules in the package."""
    packages = PERMITTED_MODULES | frozenset(local)
    for node in ast.walk(module.tree):
        for line, detail in _violations(node, packages):
            yield _finding(module, line, detail)
    for use in builtin_uses(module, _INSTEAD_OF_CALLS):
        own = ", and rename a function of your own" if use.name in module.bound else ""
        what = "is called" if use.called else "is handed on"
        yield _finding(module, use.line, f"`{use.name}` {what}; instead: {_INSTEAD_OF_CALLS[use.name]}{own}")


def _finding(module: Module, line: int, detail: str) -> SourceFinding:
    return SourceFinding(code="execution_policy_violation", detail=detail, file=module.name, line=line)


def _violations(node: ast.AST, packages: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Line and detail of what one node does wrong, built-in functions left out."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _import(node.lineno, alias.name.split(".")[0], packages)
    elif isinstance(node, ast.ImportFrom):
        if not node.level:
            yield from _import(node.lineno, (node.module or "").split(".")[0], packages)
        for alias in node.names:
            yield from _dunder(node.lineno, alias.name)
    elif isinstance(node, ast.Attribute):
        # An attribute chain may span lines; the name stands where the chain ends.
        yield from _dunder(node.end_lineno or node.lineno, node.attr)
    elif isinstance(node, ast.MatchClass):
        for name in node.kwd_attrs:
            yield from _dunder(node.lineno, name)
    elif isinstance(node, ast.Name) and node.id == "__builtins__":
        yield node.lineno, "`__builtins__` is named; instead: call the permitted functions by their own names"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _INSTEAD_OF_METHODS:
        name = node.func.attr
        instead = f"rename a method of your own, such as to `{_INSTEAD_OF_METHODS[name]}`; call no other"
        yield node.func.end_lineno or node.lineno, f"a method named `{name}` is called; instead: {instead}"


def _import(line: int, top: str, packages: frozenset[str]) -> Iterator[tuple[int, str]]:
    if top not in packages:
        instead = _INSTEAD_OF_MODULES.get(top) or f"one of {', '.join(sorted(PERMITTED_MODULES))}"
        yield line, f"`{top}` is imported, which is not permitted; instead: {instead}"


def _dunder(line: int, name: str) -> Iterator[tuple[int, str]]:
    if len(name) > 4 and name.startswith("__") and name.endswith("__"):
        yield line, f"`{name}` is accessed; instead: {_instead_of_dunder(name)}"


def _instead_of_dunder(name: str) -> str:
    return {
        "__init__": "a dataclass, which needs no call of its base",
        "__class__": "`type(value)`",
        "__dict__": "`dataclasses.asdict(value)`",
        "__name__": "the name as a string",
        "__doc__": "the text as a string",
        "__setattr__": "`dataclasses.replace(value, ...)`",
    }.get(name, "the operator or built-in function that stands for it")
