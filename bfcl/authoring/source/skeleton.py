"""How does the backend of a fresh source package read, before a person decided anything? Rule: authoring.md §5.1.

Text of the catalog reaches the file in two ways only: names through `repr`, prose through `flat`. Every handler stands
under a prefix that no helper of the preamble shares, so a tool may be named like anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.authoring.source.catalog import properties_of
from bfcl.canonical import Json
from bfcl.pack.schema_keywords import TYPES
from bfcl.records.tool import Tool

HANDLER_PREFIX: Final = "_tool_"

_PREAMBLE: Final = '''\
"""The executable oracle: what each tool answers, and what it remembers.

BFCL-TODO: decide what every handler below answers, replace the placeholder rows of fixtures.json, then remove the
markers. Removing a marker is the record that a person decided; never remove one without implementing the decision.

Everything an answer depends on comes in through `reset` and `call_tool`: no wall clock, environment, files, network or
unseeded randomness. A request that is refused is an answer, {"error": {"code": ...}}; only a bug raises.
"""

import copy

# One episode's memory. `reset` fills it anew, so nothing survives from one episode to the next.
_state = {}


def list_tools():
    """The names this backend implements, the same as in tools.json."""
    return list(_ARGUMENTS)


def reset(*, ctx, fixtures=None):
    """Start an episode from the fixtures."""
    _state.clear()
    _state.update(copy.deepcopy(fixtures or {}))


def call_tool(name, arguments, *, ctx):
    """Answer one call with a JSON object."""
    handler = _HANDLERS.get(name)
    if handler is None:
        return _error("invalid_argument", field="name", message="no such tool")
    return handler(arguments, ctx)


def get_state():
    """The whole observable state, as a copy the caller may keep."""
    return copy.deepcopy(_state)


def _error(code, **details):
    """A refusal. Details are any of entity, id, field, message."""
    return {"error": {"code": code, **details}}


def _find(collection, field, value):
    """The row of the episode that holds a value, or None."""
    return next((row for row in _state.get(collection, []) if row.get(field) == value), None)


def _argument_error(tool, arguments):
    """The first fault of a call's arguments as a refusal, or None."""
    declared = _ARGUMENTS[tool]
    for field in declared["required"]:
        if field not in arguments:
            return _error("invalid_argument", field=field, message="missing")
    for field, value in arguments.items():
        if field not in declared["types"]:
            if declared["closed"]:
                return _error("invalid_argument", field=field, message="unknown argument")
            continue
        types = declared["types"][field]
        if types and not any(_has_type(value, name) for name in types):
            return _error("invalid_argument", field=field, message="must be " + " or ".join(types))
    return None


def _has_type(value, name):
    """Whether a value has a JSON type; to JSON, true is not a number."""
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _CLASSES[name])


_CLASSES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationWords:
    """How a call says that it is confirmed, and how a tool says that it waits for that."""

    parameter: str = "confirm"
    status_field: str = "status"
    pending_status: str = "awaiting_confirmation"


def skeleton_backend(tools: Sequence[Tool], confirmation: ConfirmationWords) -> str:
    """The text of `backend.py` for tools in name order, whose names are Python identifiers."""
    lines = [_PREAMBLE]
    lines += [
        "# Tool -> required arguments, JSON types of each argument (none: any value), whether others are refused."
    ]
    lines += ["_ARGUMENTS = {", *(line for tool in tools for line in _arguments(tool)), "}", ""]
    for tool in tools:
        lines += ["", *_handler(tool, confirmation), ""]
    lines += ["", "_HANDLERS = {"]
    lines += [f"    {tool.name!r}: {HANDLER_PREFIX}{tool.name}," for tool in tools]
    lines += ["}"]
    return "\n".join(lines) + "\n"


def flat(prose: str) -> str:
    """Prose as one line that may stand in any string or comment: no quote, no backslash, nothing invisible."""
    kept = (" " if not mark.isprintable() or mark == "\\" else mark for mark in prose if mark not in "'\"")
    return " ".join("".join(kept).split())


def _arguments(tool: Tool) -> Iterator[str]:
    schema = tool.parameters or {}
    required = schema.get("required", [])
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    types = {name: _types(declared) for name, declared in properties_of(tool).items()}
    yield f"    {tool.name!r}: {{"
    yield f'        "required": {_tuple(names)},'
    yield '        "types": {'
    for name in sorted(types):
        yield f"            {name!r}: {_tuple(types[name])},"
    yield "        },"
    yield f'        "closed": {schema.get("additionalProperties") is False},'
    yield "    },"


def _types(schema: Json) -> list[str]:
    """The JSON types a parameter declares; none where one of them is not a type."""
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    words = declared if isinstance(declared, list) else [declared]
    names = [word for word in words if isinstance(word, str) and word in TYPES]
    return names if len(names) == len(words) else []


def _tuple(names: Sequence[str]) -> str:
    return repr(tuple(names))


def _handler(tool: Tool, confirmation: ConfirmationWords) -> Iterator[str]:
    name = tool.name
    prose = flat(tool.description or "") or f"Answer a call of {name}."
    yield f"def {HANDLER_PREFIX}{name}(arguments, ctx):"
    yield f'    """{prose}"""'
    yield f"    # BFCL-TODO: decide what {name!r} answers, starting with wrong arguments:"
    yield f"    #     refusal = _argument_error({name!r}, arguments)"
    yield "    #     if refusal is not None:"
    yield "    #         return refusal"
    if tool.requires_confirmation:
        yield f"    if arguments.get({confirmation.parameter!r}) is not True:"
        # The status comes last: it holds even where its field has the name of the other one.
        yield f'        return {{"tool": {name!r}, {confirmation.status_field!r}: {confirmation.pending_status!r}}}'
    yield f"    raise NotImplementedError({f'BFCL-TODO: {name} is not decided yet'!r})"
