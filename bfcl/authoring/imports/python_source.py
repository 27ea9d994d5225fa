"""Which tool catalog do the functions of a Python file describe? Read, never imported. Rule: authoring.md §15."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping

from bfcl.authoring.imports.catalog_secrets import Tell, without_credentials
from bfcl.authoring.imports.decisions import (
    Decided,
    Decisions,
    decide,
    distinct_name,
    entry,
    portable_name,
    with_confirmation,
)
from bfcl.authoring.imports.docstrings import read_docstring
from bfcl.authoring.imports.merge import Schema
from bfcl.authoring.imports.python_hints import Hints, Place
from bfcl.authoring.imports.python_module import Function, Module, read_module, too_deep
from bfcl.authoring.imports.report import ImportedCatalog, ImportedTool, Notes, Pointer
from bfcl.authoring.imports.settle import settle
from bfcl.canonical import Json
from bfcl.errors import ConfigError, Problem, raise_all


def import_python(data: bytes, decisions: Decisions, *, path: str, without: Collection[str] = ()) -> ImportedCatalog:
    """A catalog of the chosen functions, in file order. `without`: parameters that callers never give.

    What has no JSON form is among `findings`, and then nothing may be written. A function reads unless declared
    otherwise, since Python says nothing of it.
    Raises: PackError `import_source_invalid`; ConfigError `unknown_operation`, `import_decision_conflict`,
    `confirmation_parameter_taken`.
    """
    module = read_module(data, path=path)
    notes, hints = Notes(), Hints(module, path)
    named = _names(module)
    decided = decide(decisions, {tool: [function.name] for tool, function in named.items()}, "function")
    chosen = {tool: function for tool, function in named.items() if tool in decided.only}
    entries: list[Json] = []
    taken: list[Problem] = []
    for tool, function in chosen.items():
        if tool != function.name:
            place = (function.name,)
            hints.lines[place] = function.lineno
            said = f"`{function.name}` became `{tool}`: tool names are [A-Za-z0-9_-]{{1,64}}"
            notes.of(tool).note(place, "name", "renamed", said)
        try:
            parameters = without_credentials(
                _parameters(function, hints, notes.of(tool), without), _teller(function, notes.of(tool))
            )
        except RecursionError:
            raise too_deep(function.lineno, path=path) from None
        if tool in decided.confirm:
            gated = with_confirmation(parameters, decisions.confirmation_parameter)
            if gated is None:
                taken.append(_taken(function, decisions.confirmation_parameter, path))
            parameters = gated or parameters
        entries.append(entry(tool, _description(function, notes.of(tool)), parameters, decided))
    raise_all(ConfigError, taken)
    return ImportedCatalog(
        entries=entries,
        tools=[_tool(tool, function, decided) for tool, function in chosen.items()],
        report=notes.to_json(lambda pointers: _lines(pointers, hints.lines)),
        findings=sorted(hints.findings, key=lambda each: (each.line or 0, each.column or 0, each.message)),
    )


def _teller(function: Function, notes: Notes) -> Tell:
    def tell(place: tuple[str, ...], keyword: str, words: str) -> None:
        notes.note((function.name, *place), keyword, "dropped", words)

    return tell


def _description(function: Function, notes: Notes) -> str:
    words = read_docstring(ast.get_docstring(function)).description
    return str(without_credentials({"description": words}, _teller(function, notes)).get("description", ""))


def _names(module: Module) -> dict[str, Function]:
    named: dict[str, Function] = {}
    for function in sorted(module.functions.values(), key=lambda each: each.lineno):
        named[distinct_name(portable_name(function.name), named)] = function
    return named


def _lines(pointers: Iterable[Pointer], known: Mapping[tuple[str, ...], int]) -> dict[Pointer, int]:
    found: dict[Pointer, int] = {}
    for pointer in pointers:
        place = tuple(map(str, pointer))
        while place and place not in known:
            place = place[:-1]
        found[pointer] = known.get(place, 1)
    return found


def _tool(tool: str, function: Function, decided: Decided) -> ImportedTool:
    return ImportedTool(
        name=tool,
        source=function.name,
        line=function.lineno,
        mutates=tool in decided.mutates,
        requires_confirmation=tool in decided.confirm,
    )


def _taken(function: Function, name: str, path: str) -> Problem:
    return Problem(
        code="confirmation_parameter_taken",
        path=path,
        line=function.lineno,
        field=f"{function.name}.{name}",
        message=f"`{function.name}` has a parameter `{name}` that is no boolean, so it cannot carry consent",
        fix="choose another name with --confirmation-parameter, and declare it as `confirmation.parameter` in the "
        "manifest",
    )


def _parameters(function: Function, hints: Hints, notes: Notes, without: Collection[str]) -> Schema:
    """The parameter schema of a signature: closed, in order, required where there is no default."""
    hints.lines[(function.name,)] = function.lineno
    docs = read_docstring(ast.get_docstring(function)).parameters
    properties: Schema = {}
    required: list[Json] = []
    for argument, default in _arguments(function):
        if argument.arg in without:
            continue
        place = (function.name, argument.arg)
        hints.lines[place] = argument.lineno
        try:
            schema = _argument(argument, docs.get(argument.arg), place, hints, notes)
            if default is None:
                required.append(argument.arg)
            else:
                schema = hints.with_default(schema, default, place, notes)
        except RecursionError:
            raise too_deep(argument.lineno, path=hints.path) from None
        properties[argument.arg] = schema
    for star, variadic in (("*", function.args.vararg), ("**", function.args.kwarg)):
        if variadic is not None and variadic.arg not in without:
            said = f"`{star}{variadic.arg}` takes arguments without names of their own"
            hints.refuse(variadic, (function.name, variadic.arg), said, "name every argument")
    for name in docs:
        if name not in properties and name not in without:
            said = f"the docstring describes `{name}`, which is no parameter"
            notes.note((function.name,), "docstring", "dropped", said)
    return _closed(properties, required, function, notes)


def _argument(argument: ast.arg, words: str | None, place: Place, hints: Hints, notes: Notes) -> Schema:
    if argument.annotation is None:
        schema = hints.refuse(argument, place, "no type hint", "add one, or leave it out with --without")
    else:
        schema = hints.schema(argument.annotation, place, notes)
    return schema if words is None or "description" in schema else {**schema, "description": words}


def _closed(properties: Schema, required: list[Json], function: Function, notes: Notes) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    settled, removed = settle(schema)
    for defect in removed:
        parts = [part for part in defect.pointer.split("/") if part not in ("", "properties")]
        place: Pointer = (function.name, *parts[:1])
        notes.note(place, parts[-1] if parts else "schema", "dropped", f"{defect.problem}: {defect.message}")
    return settled


def _arguments(function: Function) -> Iterable[tuple[ast.arg, ast.expr | None]]:
    """(argument, its default) in the order of the signature."""
    spec = function.args
    plain = [*spec.posonlyargs, *spec.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(spec.defaults))
    yield from zip(plain, [*missing, *spec.defaults], strict=True)
    yield from zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
