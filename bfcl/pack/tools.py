"""Which tools does `tools.json` declare, and what of them may a model see? Rule: pack.md §3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.located import Document, canonical_word
from bfcl.pack.conform import conforms
from bfcl.pack.schema_check import ENTRY, fields
from bfcl.pack.shape import Pointer, Shape
from bfcl.records.tool import Tool

_PORTABLE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_NAME: Pointer = ("function", "name")


def load_tools(document: Document) -> tuple[tuple[Tool, ...], list[Problem], list[Problem]]:
    """Tools in catalog order, `tools_catalog_invalid` problems, warnings.

    An entry at fault makes no tool. `parameters` gets its default root `type`; keys starting `x-` survive in the
    internal copy alone.
    """
    shape = Shape(document, "tools_catalog_invalid")
    warnings: list[Problem] = []
    if not isinstance(document.value, list):
        conforms("tools", document.value, shape)
        return (), shape.problems, warnings
    tools: dict[str, Tool] = {}
    for index, entry in enumerate(document.value):
        inner = shape.inside((index,), f"tool {index}")
        if not conforms("tools", entry, inner, ENTRY):
            continue
        tool = _tool(entry)
        warnings += _warnings(entry, inner)
        if tool.name in tools:
            inner.refuse(_NAME, f"the name `{tool.name}` is taken by an earlier tool")
        tools.setdefault(tool.name, tool)
    return tuple(tools.values()), shape.problems, warnings


def _tool(entry: Mapping[str, Any]) -> Tool:
    """The tool behind an entry that conforms to its schema."""
    function = entry["function"]
    parameters = function.get("parameters")
    own = fields("tools", ENTRY)
    extensions = {key: value for key, value in entry.items() if key.startswith("x-") and key not in own}
    if any(key.startswith("x-") for key in function):
        # The internal copy alone shows the function block with its own `x-*` keys.
        extensions["function"] = function
    return Tool(
        name=function["name"],
        description=function.get("description"),
        strict=function.get("strict"),
        parameters=parameters if parameters is None or "type" in parameters else {"type": "object", **parameters},
        mutates=bool(entry.get("x-mutates")),
        requires_confirmation=bool(entry.get("x-requires-confirmation")),
        extensions=extensions,
    )


def _warnings(entry: Mapping[str, Any], shape: Shape) -> list[Problem]:
    function, name = entry["function"], entry["function"]["name"]
    found = []
    if not _PORTABLE_NAME.match(name):
        message = (
            f"the name {canonical_word(name)} goes beyond [A-Za-z0-9_-]{{1,64}}; exports and many servers refuse it"
        )
        found.append(shape.problem(_NAME, message, "rename the tool", code="tool_name_not_portable"))
    return found + _extension_warnings(entry, function, shape)


def _extension_warnings(entry: Mapping[str, Json], function: Mapping[str, Json], shape: Shape) -> list[Problem]:
    found = []
    own = fields("tools", ENTRY)
    for key in entry:
        if key.startswith("x-") and key not in own:
            message = f"`{key}` has no meaning here and is kept in the internal catalog only"
            found.append(shape.problem((key,), message, code="unknown_tool_extension"))
    for key in function:
        if key.startswith("x-"):
            fix = f"move `{key}` beside `function`" if key in own else None
            message = f"`function.{key}` has no effect and is kept in the internal catalog only"
            found.append(shape.problem(("function", key), message, fix, code="unknown_tool_extension"))
    return found
