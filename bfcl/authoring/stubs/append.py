"""How does a stub get into a pack's data file without touching a byte of what is there already? Rule: authoring.md §15.

Each function returns the file's new bytes, or refuses where text cannot be added safely: what results is parsed again
and must hold exactly the old content and the new.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from bfcl.authoring.stubs.named import refused_addition
from bfcl.authoring.yaml_text import yaml_text
from bfcl.canonical import Json
from bfcl.errors import BfclError
from bfcl.located import parse_json, parse_yaml

_DASH: Final = re.compile(rb"^( *)-(?:[ \t\r\n]|\Z)", re.MULTILINE)
_EMPTY: Final = re.compile(rb"^[ \t]*(?:\[[ \t]*\]|~|null)(?=[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n|\Z))", re.MULTILINE)
"""The one thing that has to go for an item to be added: an empty list written out."""
_DOCUMENT_END: Final = re.compile(rb"^\.\.\.[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n|\Z)", re.MULTILINE)


def _line_end(data: bytes) -> bytes:
    """How the file ends its lines; a line feed where it has none."""
    found = re.search(rb"\r\n?|\n", data)
    return b"\n" if found is None else found.group()


def appended_yaml(data: bytes, entries: Sequence[Json], shown: str) -> bytes:
    """A YAML list with `entries` behind its last. Raises: ConfigError `append_impossible`."""
    before = _parsed(data, shown)
    if not before:
        data = _EMPTY.sub(b"", data, count=1)
    addition = yaml_text(list(entries)).encode()
    for grown in _grown(data, addition):
        try:
            value = parse_yaml(grown, path=shown, code="pack_parse_error").value
        except BfclError:
            continue
        if value == [*before, *entries]:
            return grown
    if before and _DASH.search(data):
        message = "an item below its last would change what stands there, or not be read as one"
        fix = "end the file with the last item and one line break, or add the text by hand"
        raise refused_addition(shown, message, fix)
    raise refused_addition(
        shown, "its list is not written item below item", "write it as a block list, or add the text by hand"
    )


def _grown(data: bytes, addition: bytes) -> Iterator[bytes]:
    """The ways to put lines below a list, the likeliest first: indented as an item there is, a blank line before."""
    end = _line_end(data)
    mark = next(reversed(list(_DOCUMENT_END.finditer(data))), None)
    head, tail = (data, b"") if mark is None else (data[: mark.start()], data[mark.start() :])
    if head and not head.endswith((b"\n", b"\r")):
        head += end
    indents = dict.fromkeys([*(found.group(1) for found in _DASH.finditer(head)), b""])
    for indent in indents:
        lines = b"".join(indent + line + end for line in addition.split(b"\n")[:-1])
        # A text that keeps the blank lines below it (`|+`) would take one more.
        yield head + end + lines + tail
        yield head + lines + tail


def _parsed(data: bytes, shown: str) -> list[Json]:
    value = parse_yaml(data, path=shown, code="pack_parse_error").value
    if value is None:
        return []
    if not isinstance(value, list):
        raise refused_addition(shown, "it holds no list", "mend the file first")
    return value


def appended_json(data: bytes, entry: Json, shown: str) -> bytes:
    """A JSON array with `entry` behind its last. Raises: ConfigError `append_impossible`."""
    before = parse_json(data, path=shown, code="pack_parse_error").value
    if not isinstance(before, list):
        raise refused_addition(shown, "it holds no array", "mend the file first")
    text, end = data.decode(), _line_end(data).decode()
    close = text.rindex("]")
    body = text[:close].rstrip()
    addition = end.join(f"  {line}" for line in json.dumps(entry, ensure_ascii=False, indent=2).split("\n"))
    grown = f"{body}{',' if before else ''}{end}{addition}{end}]{text[close + 1 :]}".encode()
    if parse_json(grown, path=shown, code="pack_parse_error").value != [*before, entry]:
        raise refused_addition(shown, "the array's end was not found", "add the text by hand")
    return grown
