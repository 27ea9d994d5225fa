"""How does a collection get into the text of `fixtures.json`, with everything else left as it was written?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bfcl.authoring.imports.credential_forms import masked_problems
from bfcl.canonical import Json
from bfcl.config.credentials import shape_of
from bfcl.errors import BfclError, PackError, Problem
from bfcl.located import parse_json

_SPACE = re.compile(r"[ \t\r\n]*")


class _Member(NamedTuple):
    """Offsets of one member of the root object: its key, its value, the end of its value."""

    key: str
    start: int
    value: int
    end: int


def with_collection(
    data: bytes | None, name: str, rows: Sequence[Mapping[str, Json]], *, path: str, replace: bool
) -> bytes:
    """The file with the collection added at its end, or put in place of the one it has where `replace` says so.

    `data` is None where there is no file yet. Bytes outside the collection are kept; a row takes a line.
    Raises: BfclError `pack_parse_error` (no JSON), `fixtures_invalid` (root no object), `collection_exists`.
    """
    value = collection_text(rows)
    if data is None:
        return f"{{\n  {_quoted(name)}: {value}\n}}\n".encode()
    try:
        root = parse_json(data, path=path, code="pack_parse_error").value
    except BfclError as error:
        raise PackError(masked_problems(error.problems)) from None
    if not isinstance(root, Mapping):
        message = f"the value is {shape_of(root)}; expected an object mapping collection names to arrays of rows"
        raise PackError(Problem(code="fixtures_invalid", path=path, line=1, message=message))
    text = data.decode()
    members = _members(text)
    for member in members:
        if member.key == name:
            if not replace:
                _refuse(name, path, text.count("\n", 0, member.start) + 1)
            return (text[: member.value] + value + text[member.end :]).encode()
    if members:
        end = members[-1].end
        tail = text[end:] if "\n" in text[end : text.index("}", end)] else "\n" + text[end:].lstrip(" \t\r")
        return f"{text[:end]},\n  {_quoted(name)}: {value}{tail}".encode()
    start = text.index("{") + 1
    return f"{text[:start]}\n  {_quoted(name)}: {value}\n{text[text.index('}') :]}".encode()


def _refuse(name: str, path: str, line: int) -> None:
    raise PackError(
        Problem(
            code="collection_exists",
            path=path,
            line=line,
            field=name,
            message=f"the collection `{name}` is there already",
            fix="pass --replace to put the new rows in its place, or choose another --collection",
        )
    )


def collection_text(rows: Sequence[Mapping[str, Json]]) -> str:
    """The array as it stands in the file, one row a line."""
    if not rows:
        return "[]"
    lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return f"[\n{lines}\n  ]"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _members(text: str) -> list[_Member]:
    """The members of the root object, in order. `text` is known to be an object."""
    decoder = json.JSONDecoder()
    found = []
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        key, after = decoder.raw_decode(text, at)
        value = _skip(text, _skip(text, after) + 1)
        _, end = decoder.raw_decode(text, value)
        found.append(_Member(key, at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()
