"""What does an imported pack export: callables, tool names, assertions? Rule: pack.md §6, §9.

Runs in a fork of its world: standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bfcl.oracle import deadlines, wire
from bfcl.oracle.episode import Stage
from bfcl.oracle.exact import exact_json
from bfcl.oracle.packcode import exported_assertions
from bfcl.oracle.scratch import CALL

if TYPE_CHECKING:
    import inspect

_CALLABLES: Mapping[str, tuple[tuple[Any, ...], Mapping[str, Any]]] = {
    "list_tools": ((), {}),
    "reset": ((), {"ctx": None, "fixtures": None}),
    "call_tool": (("name", {}), {"ctx": None}),
    "get_state": ((), {}),
}
_KEYWORDS = ("state", "trace", "task", "ctx")
TABLE = "ASSERTIONS"
RUNS_NOTHING = "so calling it runs nothing"


def describe(stage: Stage, assertions: ModuleType | None) -> None:
    """Leave a description in the scratch memory: one record without calling anything, then what `list_tools` says.

    So a `list_tools` that hangs or takes the process down leaves the rest told.
    """
    stage.scratch.enter(CALL)
    missing = [] if stage.backend is None else missing_callables(stage.backend)
    exports = [] if assertions is None else _exports(assertions)
    stage.scratch.append(wire.DESCRIPTION, exact_json({"missing": missing, "assertions": exports}))
    if stage.backend is not None and "list_tools" not in missing:
        tools, breakdown = _tools(stage, stage.backend)
        stage.scratch.append(wire.DESCRIPTION, exact_json({"tools": tools, "tools_breakdown": breakdown}))
    stage.scratch.finish()


def missing_callables(backend: object) -> list[str]:
    """The callables of the contract that an object lacks, or that cannot be called so. Rule: pack.md §6."""
    return [name for name, call in _CALLABLES.items() if not _takes(getattr(backend, name, None), *call)]


def _takes(entry: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> bool:
    if not callable(entry) or _deferred(entry):
        return False
    signature = _signature(entry)
    if signature is None:
        return True  # a compiled callable may not tell its signature: calling it will
    try:
        signature.bind(*positional, **keywords)
    except TypeError:
        return False
    return True


def _signature(entry: Callable[..., Any]) -> inspect.Signature | None:
    import inspect  # heavy, and no episode needs it

    try:
        # Of what is called, not of what a decorator says it wraps: `*args, **kwargs` takes every keyword.
        return inspect.signature(entry, follow_wrapped=False)
    except (TypeError, ValueError):
        return None


def _deferred(entry: Callable[..., Any]) -> str | None:
    """How a function is written of which a call runs nothing; None where calling it runs it."""
    import inspect

    if inspect.iscoroutinefunction(entry) or inspect.isasyncgenfunction(entry):
        return "is an `async def`"
    return "holds `yield`" if inspect.isgeneratorfunction(entry) else None


def _tools(stage: Stage, backend: ModuleType) -> tuple[list[str] | None, dict[str, Any] | None]:
    locator, violations = stage.locator, stage.guard.violations
    failure: dict[str, Any] | None
    try:
        answer = backend.list_tools()
    except BaseException as error:  # noqa: BLE001 - pack code may raise anything, SystemExit included
        answer = None
        failure = deadlines.breakdown("tool_raised", locator.told(error), CALL, where=locator.of_error(error))
    else:
        failure = _names_problem(answer)
    if violations:
        what, where = violations[0]
        failure = deadlines.breakdown("ambient_access", f"list_tools {locator.scrub(what)}", CALL, where=where)
    return (None, failure) if failure else ([str(name) for name in answer], None)


def _names_problem(answer: Any) -> dict[str, Any] | None:
    if not isinstance(answer, (list, tuple)):
        message = f"list_tools returned {type(answer).__name__}, expected a list of names"
    elif odd := [type(item).__name__ for item in answer if not isinstance(item, str)]:
        message = f"list_tools returned an element of type {odd[0]}, expected names"
    elif len(set(answer)) != len(answer):
        twice = next(name for index, name in enumerate(answer) if name in answer[:index])
        message = f"list_tools names `{twice}` twice"
    else:
        return None
    return deadlines.breakdown("non_object_result", message, CALL)


def _exports(module: ModuleType) -> list[list[Any]]:
    """`[name, what its signature lacks or None, line or None]` per exported assertion, in export order."""
    table = getattr(module, TABLE, {})
    if not isinstance(table, dict):
        return [[TABLE, table_problem(type(table).__name__), None]]
    return [
        [name, signature_problem(entry), _line(entry, module)] for name, entry in exported_assertions(module).items()
    ]


def table_problem(kind: str) -> str:
    """What is said of a table of assertions that is none, but of type `kind`."""
    return f"is of type {kind}"


def signature_problem(entry: Callable[..., Any]) -> str | None:
    """What keeps an assertion from being called with its keywords, in words; None where nothing does."""
    deferred = _deferred(entry)
    if deferred is not None:
        return f"{deferred}, {RUNS_NOTHING}"
    signature = _signature(entry)
    if signature is None:
        return None
    try:
        signature.bind(**dict.fromkeys(_KEYWORDS))
    except TypeError:
        pass
    else:
        return None
    parameters = signature.parameters.values()
    takes_any = any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters)
    by_name = {
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    lacking = [f"`{name}`" for name in _KEYWORDS if name not in by_name and not takes_any]
    extra = [
        f"`{parameter.name}`"
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        and not (parameter.name in _KEYWORDS and parameter.name in by_name)
    ]
    told = []
    if lacking:
        told.append(f"does not accept keyword {', '.join(lacking)}")
    if extra:
        told.append(f"requires extra parameter {', '.join(extra)}")
    return "; ".join(told)


def _line(entry: Callable[..., Any], module: ModuleType) -> int | None:
    import inspect

    code = getattr(inspect.unwrap(entry), "__code__", None)
    if code is None or code.co_filename != getattr(module, "__file__", None):
        return None
    return int(code.co_firstlineno)
