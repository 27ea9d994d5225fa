"""How is a call written as Python, and read back from it? Rule: generation.md §7, `bfcl_json`.

`name(a=…, b=…)` with literals only. Texts are quoted by a rule of our own: `repr` escapes by the Unicode tables of the
interpreter that happens to run, so its bytes differ between Python versions.
"""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from bfcl.canonical import Json
from bfcl.exports.row import ExportCall

MAX_DEPTH: Final = 50
"""Python parsers give up on deeper nesting, at a depth that differs between them."""

_ESCAPED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\']")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'"}


class NotPython(Exception):
    """A call that cannot be written as Python; the text says what of it."""


class PythonCall(NamedTuple):
    """A call as its text tells it, arguments in order."""

    function_name: str
    arguments: Mapping[str, Json]


def write_call(call: ExportCall) -> str:
    """The call as one line of Python, arguments in the order derived.

    Raises: NotPython for a part of the name or an argument that is no identifier or a keyword, or nests too deep.
    """
    for part in call.function_name.split("."):
        _check_identifier(part, f"function `{call.function_name}`")
    for name in call.arguments:
        _check_identifier(name, f"argument `{name}` of `{call.function_name}`")
    arguments = ", ".join(f"{name}={_literal(value, 0)}" for name, value in call.arguments.items())
    return f"{call.function_name}({arguments})"


def read_call(text: str) -> PythonCall:
    """Inverse of `write_call`. Raises: SyntaxError, ValueError or TypeError on any other text."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError(f"not a call with named arguments: {text[:40]}")
    arguments: dict[str, Json] = {}
    for each in node.keywords:
        if each.arg is None or each.arg in arguments:
            raise ValueError(f"a call that unpacks or repeats an argument: {text[:40]}")
        arguments[each.arg] = cast("Json", ast.literal_eval(each.value))
    return PythonCall(ast.unparse(node.func), arguments)


def _check_identifier(name: str, what: str) -> None:
    # The parser reads names in NFKC: another spelling would come back as another argument.
    # `__debug__` parses as a name that nothing may be assigned to.
    reserved = keyword.iskeyword(name) or name == "__debug__"
    if not name.isidentifier() or reserved or unicodedata.normalize("NFKC", name) != name:
        raise NotPython(f"{what} is no Python identifier, or a keyword")


def _literal(value: Json, depth: int) -> str:
    """The Python literal of a JSON value, mappings in their own order."""
    if depth > MAX_DEPTH:
        raise NotPython(f"an argument nests deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        members = (f"{_quoted(key)}: {_literal(each, depth + 1)}" for key, each in value.items())
        return "{" + ", ".join(members) + "}"
    return "[" + ", ".join(_literal(each, depth + 1) for each in value) + "]"


def _quoted(text: str) -> str:
    return "'" + _ESCAPED.sub(_escape, text) + "'"


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
