"""Which tools does a source package publish? The strict reading of its `tools.json`. Rule: authoring.md §5."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bfcl.authoring.source.tree import read_source
from bfcl.canonical import Json
from bfcl.errors import PackError, Problem, raise_all
from bfcl.located import parse_json
from bfcl.pack.shape import Shape
from bfcl.records.tool import Tool

CATALOG: Final = "tools.json"
MAX_CATALOG_BYTES: Final = 10 * 1024 * 1024

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_INVALID: Final = "reviewed_schema_invalid"
_ENTRY_KEYS: Final = ("type", "function", "x-mutates", "x-requires-confirmation")
_FUNCTION_KEYS: Final = ("name", "description", "parameters", "strict")


def open_catalog(path: Path, shown: str) -> bytes:
    """The file's bytes. Raises: PackError `reviewed_schema_missing`, `reviewed_schema_too_large`."""
    if not path.is_file():
        message = "does not exist" if not path.exists() else "is not a file"
        fix = "put the reviewed tool catalog there, or name it with `--tools`"
        raise PackError(Problem(code="reviewed_schema_missing", path=shown, message=message, fix=fix))
    size = path.stat().st_size
    if size > MAX_CATALOG_BYTES:
        message = f"holds {size} bytes; expected at most {MAX_CATALOG_BYTES}"
        fix = "shorten descriptions, or publish fewer tools"
        raise PackError(Problem(code="reviewed_schema_too_large", path=shown, message=message, fix=fix))
    return read_source(path, shown)


def read_catalog(data: bytes, shown: str, *, for_skeleton: bool = False) -> tuple[Tool, ...]:
    """The tools by name: their order in the file means nothing.

    Unlike a pack's catalog this one is closed: no further `x-` key, no null flag, no empty list. `for_skeleton` also
    asks for names that can be part of a Python name, and for a parameter somewhere.
    Raises: PackError `reviewed_schema_invalid`, one problem a fault with tool index, field and reason; BfclError with
    that code where the file is not JSON.
    """
    document = parse_json(data, path=shown, code=_INVALID)
    shape = Shape(document, _INVALID)
    entries = document.value
    if not isinstance(entries, list) or not entries:
        shape.misfit(entries, (), "a non-empty array of tools")
        raise PackError(shape.problems)
    tools: dict[str, Tool] = {}
    for index, entry in enumerate(entries):
        inside = shape.inside((index,), f"tool {index}")
        tool = _tool(entry, inside)
        if tool is not None and for_skeleton and not _IDENTIFIER.match(tool.name):
            expected = "letters, digits and `_`, no digit first, for a skeleton"
            inside.misfit(tool.name, ("function", "name"), expected, "rename the tool, or write `backend.py` by hand")
        if tool is not None and tool.name in tools:
            message = f"tool {index}: `function.name` is {tool.name!r}, the name of an earlier tool"
            shape.refuse((index, "function", "name"), message, "give each tool its own name")
        elif tool is not None:
            tools[tool.name] = tool
    if for_skeleton and not shape.problems and not any(map(properties_of, tools.values())):
        message = "no tool has `function.parameters.properties`, so placeholder rows would be empty"
        shape.refuse((), message, "declare the parameters, or write `backend.py` and `fixtures.json` by hand")
    raise_all(PackError, shape.problems)
    return tuple(tools[name] for name in sorted(tools))


def _tool(entry: Json, shape: Shape) -> Tool | None:
    if not isinstance(entry, dict):
        shape.misfit(entry, (), "an object with `function`")
        return None
    shape.closed(entry, (), _ENTRY_KEYS)
    if entry.get("type", "function") != "function":
        shape.misfit(entry["type"], ("type",), 'the word "function"')
    mutates = _flag(entry, "x-mutates", (), shape)
    gated = _flag(entry, "x-requires-confirmation", (), shape)
    function = entry.get("function")
    if not isinstance(function, dict):
        if "function" in entry:
            shape.misfit(function, ("function",), "an object with `name`")
        else:
            shape.missing(entry, (), "function")
        return None
    shape.closed(function, ("function",), _FUNCTION_KEYS)
    _flag(function, "strict", ("function",), shape)
    name = shape.required_text(function, ("function",), "name")
    if name != name.strip():
        shape.misfit(name, ("function", "name"), "a name without surrounding white space")
    description = function.get("description", "")
    if not isinstance(description, str):
        shape.misfit(description, ("function", "description"), "text")
    tool = Tool(
        name=name,
        description=description if isinstance(description, str) else None,
        parameters=_parameters(function, shape),
        mutates=mutates,
        requires_confirmation=gated,
    )
    return tool if name else None


def _flag(holder: Mapping[str, Json], key: str, pointer: tuple[str, ...], shape: Shape) -> bool:
    value = holder.get(key, False)
    if isinstance(value, bool):
        return value
    shape.misfit(value, (*pointer, key), "true or false")
    return False


def _parameters(function: Mapping[str, Json], shape: Shape) -> Mapping[str, Json]:
    parameters = function.get("parameters", {})
    if not isinstance(parameters, dict):
        shape.misfit(parameters, ("function", "parameters"), "an object holding a JSON schema")
        return {}
    properties = parameters.get("properties", {})
    if not isinstance(properties, dict):
        shape.misfit(properties, ("function", "parameters", "properties"), "an object of parameter schemas")
        return {}
    return parameters


def properties_of(tool: Tool) -> Mapping[str, Json]:
    """Parameter name to schema, as declared."""
    properties = (tool.parameters or {}).get("properties", {})
    return properties if isinstance(properties, Mapping) else {}
