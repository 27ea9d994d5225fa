"""How is an OpenAPI file read, so that integer keys are fine and every place still has its line?

YAML in the wild writes response codes as `200:`. Pack files refuse keys that are no text; here such keys are quoted
before parsing, which moves no line. Everything else follows `bfcl.located`.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from bfcl.authoring.imports.credential_forms import masked_problems
from bfcl.authoring.imports.report import Pointer
from bfcl.errors import BfclError, PackError, Problem
from bfcl.located import Document, canonical_word, parse_flow, parse_json, parse_yaml

CODE = "import_source_invalid"
_TYPED_START = frozenset("-0123456789tfn~")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecSource:
    """A parsed file that can place many values in one pass."""

    document: Document
    text: str
    is_json: bool

    def lines(self, pointers: Iterable[Pointer]) -> dict[Pointer, int]:
        """1-based line of each pointer; an absent value stands where its nearest existing parent does."""
        wanted = list(pointers)
        if self.is_json:
            return _json_lines(self.text, wanted)
        return {pointer: self.document.line(pointer) for pointer in wanted}


def read_spec(data: bytes, *, path: str) -> SpecSource:
    """Read YAML or JSON, told apart by the suffix `.json` or a leading brace.

    Raises: BfclError `import_source_invalid` with line and column, as `bfcl.located` finds it, credentials masked.
    """
    try:
        return _read(data, path)
    except BfclError as error:
        raise PackError(masked_problems(error.problems)) from None


def _read(data: bytes, path: str) -> SpecSource:
    data = data.removeprefix(b"\xef\xbb\xbf")
    is_yaml_name = path.lower().endswith((".yaml", ".yml"))
    if path.lower().endswith(".json") or (data.lstrip().startswith(b"{") and not is_yaml_name):
        document = parse_json(data, path=path, code=CODE)
        return SpecSource(document=document, text=data.decode(), is_json=True)
    try:
        text = _with_text_keys(data.decode())
    except UnicodeDecodeError:
        text = ""
    document = parse_yaml(text.encode() if text else data, path=path, code=CODE)
    return SpecSource(document=document, text=text, is_json=False)


def _with_text_keys(text: str) -> str:
    """The YAML text with every plain key that reads as a number, a truth value or null put in quotes."""
    quoted = []
    try:
        for start, end in _plain_keys(text):
            if text[start] in _TYPED_START and _is_typed(text[start:end]):
                quoted.append((start, end))
    except yaml.YAMLError:
        return text  # parsing reports it, with its line
    pieces, done = [], 0
    for start, end in quoted:
        pieces += [text[done:start], "'", text[start:end], "'"]
        done = end
    return "".join((*pieces, text[done:]))


def _is_typed(key: str) -> bool:
    try:
        return not isinstance(parse_flow(key), str)
    except ValueError:
        return False


def _plain_keys(text: str) -> Iterable[tuple[int, int]]:
    """(start, end) of every unquoted, untagged scalar that stands as a key."""
    # Events rather than nodes: composing recurses in C without a guard against deep nesting.
    expects_key: list[bool | None] = []  # per open collection; None in a sequence
    for event in yaml.parse(text, Loader=yaml.CLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            expects_key.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        is_key = bool(expects_key and expects_key[-1])
        if expects_key and expects_key[-1] is not None:
            expects_key[-1] = not expects_key[-1]
        if isinstance(event, yaml.CollectionStartEvent):
            expects_key.append(True if isinstance(event, yaml.MappingStartEvent) else None)
        elif is_key and isinstance(event, yaml.ScalarEvent) and _is_plain(event):
            start = 0 if event.start_mark is None else event.start_mark.index
            yield start, start + len(event.value)


def _is_plain(event: yaml.ScalarEvent) -> bool:
    return not event.style and not event.tag and not event.anchor and bool(event.value)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


@dataclass(slots=True)
class _Open:
    """A container being walked. `path` is None where no wanted pointer leads through it."""

    is_object: bool
    path: Pointer | None
    index: int = 0
    key: str | None = None

    def child(self) -> Pointer | None:
        if self.path is None:
            return None
        return (*self.path, self.key if self.is_object and self.key is not None else self.index)


def _json_lines(text: str, pointers: list[Pointer]) -> dict[Pointer, int]:
    # A place at a time would walk the file once per notice: minutes for the large files that services publish.
    wanted = {pointer[:length] for pointer in pointers for length in range(len(pointer) + 1)}
    offsets: dict[Pointer, int] = {}
    stack: list[_Open] = []
    for found in _TOKEN.finditer(text):
        token = found.group()
        top = stack[-1] if stack else None
        if token in ("}", "]"):
            stack.pop()
        elif token == "," and top is not None:
            top.index, top.key = top.index + 1, None
        elif token == ":":
            continue
        elif top is not None and top.is_object and top.key is None:
            top.key = json.loads(token) if top.path is not None else token
            _remember(offsets, top.child(), found.start(), wanted)
        else:
            path: Pointer | None = () if top is None else top.child()
            if path is not None and path not in wanted:
                path = None
            _remember(offsets, path, found.start(), wanted)
            if token in ("{", "["):
                stack.append(_Open(token == "{", path))
    breaks = [found.start() for found in re.finditer("\n", text)]
    return {pointer: bisect.bisect_left(breaks, _nearest(offsets, pointer)) + 1 for pointer in pointers}


def _remember(offsets: dict[Pointer, int], path: Pointer | None, offset: int, wanted: set[Pointer]) -> None:
    if path is not None and path in wanted:
        offsets.setdefault(path, offset)


def _nearest(offsets: dict[Pointer, int], pointer: Pointer) -> int:
    while pointer and pointer not in offsets:
        pointer = pointer[:-1]
    return offsets.get(pointer, 0)


def dialect_of(source: SpecSource) -> str:
    """`3.0` or `3.1`, from the field `openapi`.

    Raises: BfclError `import_source_invalid` for anything else, Swagger 2.0 included.
    """
    value = source.document.value
    found = value.get("openapi") if isinstance(value, dict) else None
    said = str(found) if isinstance(found, str | float | int) else ""
    for dialect in ("3.0", "3.1"):
        if said == dialect or said.startswith(f"{dialect}."):
            return dialect
    at: tuple[str, ...] = ()
    if isinstance(value, dict) and "swagger" in value:
        seen, at, fix = "this is a Swagger 2.0 file", ("swagger",), "convert it to OpenAPI 3 first"
    elif found is None:
        seen, fix = "the field `openapi` is missing", "name an OpenAPI file, or add `openapi: 3.1.0`"
    else:
        seen, at, fix = f"`openapi` is {canonical_word(found)}", ("openapi",), "save the file as OpenAPI 3.0 or 3.1"
    raise BfclError(
        Problem(
            code=CODE,
            path=source.document.path,
            line=source.document.line(at),
            field=".".join(at) or None,
            message=f"{seen}; expected OpenAPI 3.0 or 3.1",
            fix=fix,
        )
    )
