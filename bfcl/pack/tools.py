"""Which tools does `tools.json` declare, and what of them may a model see? Rule: pack.md §3."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.located import Document, canonical_word
from bfcl.pack.shape import Shape
from bfcl.records.tool import Tool

_PORTABLE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_ENTRY_KEYS = ("type", "function", "x-mutates", "x-requires-confirmation")
_FUNCTION_KEYS = ("name", "description", "strict", "parameters")


def load_tools(document: Document) -> tuple[tuple[Tool, ...], list[Problem], list[Problem]]:
    """Tools in catalog order, `tools_catalog_invalid` problems, warnings.

    `parameters` gets its default root `type`; keys starting `x-` survive in the internal copy alone.
    """
    shape = Shape(document, "tools_catalog_invalid")
    warnings: list[Problem] = []
    if not isinstance(document.value, list):
        shape.misfit(document.value, (), "an array of tools")
        return (), shape.problems, warnings
    tools: dict[str, Tool] = {}
    for index, entry in enumerate(document.value):
        tool = _entry(entry, shape.inside((index,), f"tool {index}"), warnings)
        if tool is None:
            continue
        if tool.name in tools:
            shape.refuse(
                (index, "function", "name"), f"tool {index}: the name `{tool.name}` is taken by an earlier tool"
            )
        tools.setdefault(tool.name, tool)
    return tuple(tools.values()), shape.problems, warnings


def _entry(entry: Json, shape: Shape, warnings: list[Problem]) -> Tool | None:
    if not isinstance(entry, dict):
        shape.misfit(entry, (), "an object with `function`")
        return None
    _closed(entry, (), _ENTRY_KEYS, shape)
    if entry.get("type", "function") != "function":
        shape.misfit(entry["type"], ("type",), 'the word "function"')
    function = entry.get("function")
    if not isinstance(function, dict):
        if "function" in entry:
            shape.misfit(function, ("function",), "an object with `name`")
        else:
            shape.missing(entry, (), "function")
        return None
    _closed(function, ("function",), _FUNCTION_KEYS, shape)
    name = _name(function, shape, warnings)
    warnings += _extension_warnings(entry, function, shape)
    extensions = {key: value for key, value in entry.items() if key.startswith("x-") and key not in _ENTRY_KEYS}
    if any(key.startswith("x-") for key in function):
        # The internal copy alone shows the function block with its own `x-*` keys.
        extensions["function"] = function
    tool = Tool(
        name=name or "",
        description=shape.text(function.get("description"), ("function", "description"), blank=True),
        strict=shape.flag(function.get("strict"), ("function", "strict")),
        parameters=_parameters(function, shape),
        mutates=bool(shape.flag(entry.get("x-mutates"), ("x-mutates",))),
        requires_confirmation=bool(shape.flag(entry.get("x-requires-confirmation"), ("x-requires-confirmation",))),
        extensions=extensions,
    )
    return tool if name else None


def _closed(value: Mapping[str, Json], pointer: tuple[str, ...], known: tuple[str, ...], shape: Shape) -> None:
    own = {key: item for key, item in value.items() if not key.startswith("x-")}
    shape.closed(own, pointer, [key for key in known if not key.startswith("x-")])


def _name(function: Mapping[str, Json], shape: Shape, warnings: list[Problem]) -> str | None:
    name = shape.required_text(function, ("function",), "name")
    if not name:
        return None
    pointer = ("function", "name")
    if name != name.strip():
        shape.misfit(name, pointer, "a name without surrounding white space")
        return None
    if not _PORTABLE_NAME.match(name):
        message = (
            f"the name {canonical_word(name)} goes beyond [A-Za-z0-9_-]{{1,64}}; exports and many servers refuse it"
        )
        warnings.append(shape.problem(pointer, message, "rename the tool", code="tool_name_not_portable"))
    return name


def _parameters(function: Mapping[str, Json], shape: Shape) -> Mapping[str, Json] | None:
    if "parameters" not in function:
        return None
    parameters = function["parameters"]
    if not isinstance(parameters, dict):
        shape.misfit(parameters, ("function", "parameters"), "an object holding a JSON schema")
        return None
    return parameters if "type" in parameters else {"type": "object", **parameters}


def _extension_warnings(entry: Mapping[str, Json], function: Mapping[str, Json], shape: Shape) -> list[Problem]:
    found = []
    for key in entry:
        if key.startswith("x-") and key not in _ENTRY_KEYS:
            message = f"`{key}` has no meaning here and is kept in the internal catalog only"
            found.append(shape.problem((key,), message, code="unknown_tool_extension"))
    for key in function:
        if key.startswith("x-"):
            fix = f"move `{key}` beside `function`" if key in _ENTRY_KEYS else None
            message = f"`function.{key}` has no effect and is kept in the internal catalog only"
            found.append(shape.problem(("function", key), message, fix, code="unknown_tool_extension"))
    return found
