"""What do a new assertion and a new tool look like in this pack? Rule: pack.md §3, §9."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from bfcl.authoring.stubs.named import named_tool, refused_stub
from bfcl.canonical import Json
from bfcl.pack.model import Pack

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_TYPES = ("string", "integer", "number", "boolean", "array", "object")


class NewAssertion(NamedTuple):
    """The function's source, and its entry for `ASSERTION_CAPABILITIES`."""

    name: str
    source: str
    capability: str


def new_assertion(pack: Pack, name: str, tool: str | None) -> NewAssertion:
    """An assertion that looks at what a first version can: the calls, their arguments, their results.

    With `tool` it expects one call of it with the slots' values, not refused; without, no call at all.
    Raises: ConfigError `stub_impossible`.
    """
    if not _IDENTIFIER.match(name) or not name.startswith("assert_"):
        fix = "name it `assert_<what must hold>`"
        raise refused_stub(name, "is no name for an assertion; expected an identifier starting with `assert_`", fix)
    if tool is None:
        return NewAssertion(name, _NO_CALL.format(name=name), _CAPABILITY.format("path"))
    entry = named_tool(pack, tool, of=name)
    source = _CALLED.format(name=name, tool=_quoted(tool))
    if entry.requires_confirmation:
        source += _CONFIRMED.format(parameter=_quoted(pack.manifest.confirmation.parameter))
    return NewAssertion(name, source, _CAPABILITY.format("result"))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_CAPABILITY: Final = '{{"trace": True, "category": "{}"}}'

_NO_CALL: Final = '''
def {name}(*, state, trace, task, ctx):
    """No tool is called."""
    called = [call["tool"] for call in trace]
    assert not called, f"expected no call, got {{called}}"
'''

_CALLED: Final = '''
def {name}(*, state, trace, task, ctx):
    """This tool is called once and nothing else is, with the values the user gave, and it answers."""
    called = [call["tool"] for call in trace]
    assert called == [{tool}], f"calls are {{called}}"
    [call] = trace
    for parameter, value in call["arguments"].items():
        if parameter in task["slots"]:
            expected = task["slots"][parameter]
            assert value == expected, f"{{parameter}} is {{value!r}}; expected {{expected!r}}"
    error = call["result"].get("error")
    assert error is None, f"refused: {{error}}"
    # Compare the result with `state` here: what must it say, field by field?
'''

_CONFIRMED: Final = """\
    assert call["arguments"].get({parameter}) is True, "the call is not confirmed"
"""


class Parameter(NamedTuple):
    """A parameter as `--param name:type[:optional]` gives it."""

    name: str
    kind: str
    required: bool


def read_parameter(text: str) -> Parameter:
    """Raises: ConfigError `stub_impossible` where it is not `name:type` or `name:type:optional`."""
    name, _, rest = text.partition(":")
    kind, _, optional = rest.partition(":")
    if not _IDENTIFIER.match(name) or kind not in _TYPES or optional not in ("", "optional"):
        fix = "such as `--param kiln_id:string` or `--param limit:integer:optional`"
        message = f"`{text}` is no parameter; expected NAME:TYPE with a type of {', '.join(_TYPES)}"
        raise refused_stub("--param", message, fix)
    return Parameter(name, kind, not optional)


class ToolKind(NamedTuple):
    """What the new tool declares about itself."""

    mutates: bool
    confirmed: bool


def new_tool(pack: Pack, name: str, parameters: Sequence[Parameter], kind: ToolKind) -> dict[str, Json]:
    """The entry for `tools.json`. Raises: ConfigError `stub_impossible` for a taken, unusable or repeated name."""
    if not _TOOL_NAME.match(name):
        raise refused_stub(name, "is no name for a tool; expected letters, digits, `_`, `-`, at most 64")
    if pack.tool(name) is not None:
        raise refused_stub(name, "the catalog has a tool of this name already", "choose another name")
    names = [one.name for one in parameters]
    repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if repeated is not None:
        raise refused_stub("--param", f"`{repeated}` is given more than once; expected each name once")
    properties: dict[str, Json] = {one.name: {"type": one.kind, "description": ""} for one in parameters}
    required = [one.name for one in parameters if one.required]
    if kind.confirmed:
        parameter = pack.manifest.confirmation.parameter
        properties[parameter] = {"type": "boolean", "description": "true once the user has agreed"}
        required.append(parameter)
    entry: dict[str, Json] = {
        "type": "function",
        "function": {
            "name": name,
            "description": "",
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(dict.fromkeys(required)),
                "additionalProperties": False,
            },
        },
    }
    if kind.mutates:
        entry["x-mutates"] = True
    if kind.confirmed:
        entry["x-requires-confirmation"] = True
    return entry
