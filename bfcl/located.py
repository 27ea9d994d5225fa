"""YAML and JSON that know where each value stands. Rule: pack.md §1.8.

YAML scalars are JSON-style: only `true`/`false`, `null`/`~`/empty, decimal integers and floats are typed; `yes`, `012`,
`12:30` and dates stay text. Duplicate keys, non-string keys and non-finite numbers are refused in both languages.
Places are looked up on demand, since almost every value is fine and nobody asks where it is.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser

from bfcl.canonical import Json
from bfcl.errors import BfclError, Problem

Pointer = Sequence[str | int]
"""Keys and indices from the root to a value."""

MAX_DEPTH = 200
"""Deeper nesting is refused: no pack needs it, and recursive readers stay safe."""

MAX_NODES = 5_000_000
"""Aliases may not blow a small file up beyond this many values."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None, "~": None, "": None}
_NON_FINITE = frozenset({".nan", ".inf", "-.inf", "+.inf"})
_PLAIN, _QUOTED = "plain", "quoted"
_MAP, _SEQ = "map", "seq"
_STANDARD = "tag:yaml.org,2002:"
_MAX_INTEGER_DIGITS = 4000


class Place(NamedTuple):
    """1-based line and column."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. `path` is how messages name it; `value` is plain Python data."""

    path: str
    value: Json
    _text: str = field(repr=False)
    _is_yaml: bool = field(repr=False, kw_only=True)

    def place(self, pointer: Pointer = ()) -> Place:
        """Where the value at `pointer` stands; where it is absent, where its nearest existing parent does.

        A mapping's value is placed at its key, since that is the line a person edits.
        """
        if self._is_yaml:
            return _yaml_place(self._text, pointer)
        return _scanner(self._text).place(pointer)

    def line(self, pointer: Pointer = ()) -> int:
        """1-based line of `place`."""
        return self.place(pointer).line


def parse_yaml(data: bytes, *, path: str, code: str) -> Document:
    """Parse one YAML document.

    Raises: BfclError with `code`, line and column: bad syntax, several documents, duplicate or non-string keys,
    non-finite numbers, unknown tags, bad UTF-8. Rule: pack.md §1.8.
    """
    text = _decode(data, path, code)
    root = _compose(text, path, code)
    reader = _YamlReader(path, code)
    value = None if root is None else reader.read(root, 0)
    if reader.problems:
        raise BfclError(reader.problems)
    return Document(path, value, text, _is_yaml=True)


def parse_json(data: bytes, *, path: str, code: str) -> Document:
    """Parse one JSON document.

    Raises: BfclError with `code`, line and column: bad syntax, duplicate keys, NaN or Infinity, bad UTF-8.
    """
    text = _decode(data, path, code)
    if text.startswith("\ufeff"):
        raise BfclError(
            Problem(
                code=code,
                path=path,
                line=1,
                column=1,
                message="starts with a byte order mark",
                fix="save the file as plain UTF-8",
            )
        )
    if _depth(text) > MAX_DEPTH and _depth(_JSON_STRING.sub("", text)) > MAX_DEPTH:
        message = f"nested deeper than {MAX_DEPTH} levels"
        raise BfclError(Problem(code=code, path=path, line=1, message=message))
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _not_json(error, path, code) from None
    except _DuplicateKey as error:
        try:
            line, column = _JsonScanner(text).duplicate() or (1, 1)
        except json.JSONDecodeError as broken:
            # The object around it is no JSON further on: that has to be mended first.
            raise _not_json(broken, path, code) from None
        message = f"key {error.key!r} is given twice in one object"
        raise BfclError(
            Problem(code=code, path=path, line=line, column=column, message=message, fix="keep one of the two")
        ) from None
    except _NonFinite as error:
        found = re.search(r"(?<![\w\"])" + re.escape(error.text), text)
        line, column = _at(text, found.start() if found else 0)
        message = f"{error.text} is not a finite number"
        raise BfclError(Problem(code=code, path=path, line=line, column=column, message=message)) from None
    except ValueError as error:
        message = f"not JSON: {error}"
        raise BfclError(Problem(code=code, path=path, line=1, message=message)) from None
    surrogate = _lone_surrogate(text, value)
    if surrogate:
        message = "holds a lone UTF-16 surrogate, which UTF-8 cannot store"
        raise BfclError(Problem(code=code, path=path, line=surrogate.line, column=surrogate.column, message=message))
    return Document(path, value, text, _is_yaml=False)


def parse_flow(text: str) -> Json:
    """Parse a YAML flow fragment under the same scalar rule. Raises ValueError saying what is wrong."""
    try:
        return parse_yaml(text.encode(), path="-", code="-").value
    except BfclError as error:
        raise ValueError(error.problems[0].message) from None
    except UnicodeEncodeError:
        raise ValueError("holds a lone UTF-16 surrogate") from None


def _decode(data: bytes, path: str, code: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        raise BfclError(
            Problem(code=code, path=path, line=line, message=message, fix="save the file as UTF-8")
        ) from None


# --- YAML ---------------------------------------------------------------------------------------------------------


class _Composer(CParser):
    """libyaml nodes whose tag tells plain scalars from quoted ones; typing them is `_scalar`'s work."""

    def resolve(self, kind: type[Any], value: str | None, implicit: Any) -> str:  # noqa: ARG002 libyaml calls it
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _QUOTED
        return _MAP if kind is yaml.MappingNode else _SEQ

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass


def _compose(text: str, path: str, code: str) -> Any:
    if _depth(text) > MAX_DEPTH or max(map(len, text.split("\n"))) > 2 * MAX_DEPTH:
        _refuse_deep(text, path, code)
    try:
        return _Composer(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = error.problem or error.context or "unreadable"
        if "but found another document" in said:
            said = "a second document starts here; expected one document"
        fix = _mending(said, text.split("\n")[line - 1 : line], column)
        raise BfclError(
            Problem(code=code, path=path, line=line, column=column, message=f"not YAML: {said}", fix=fix)
        ) from None
    except yaml.YAMLError as error:
        line, column = _at(text, getattr(error, "position", 0) or 0)
        said = getattr(error, "reason", None) or str(error).splitlines()[0]
        raise BfclError(Problem(code=code, path=path, line=line, column=column, message=f"not YAML: {said}")) from None


_MENDING = {
    "mapping values are not allowed": "put the text in quotes if it holds `: `; else give this line the indentation of "
    "its neighbours",
    "did not find expected ',' or": "close the bracket that is open; put text in quotes if it holds brackets or commas",
    "found unexpected ':'": "put the text in quotes: inside brackets a colon ends a key",
    "found unexpected end of stream": "close the quotation mark that is open",
    "did not find expected '-' indicator": "give this line the indentation of the entry it belongs to, or begin it "
    "with `- `",
    "did not find expected key": "give this line the indentation of its neighbours; put the whole text in quotes if it "
    "begins with one",
    "found undefined alias": "put the text in quotes: `*` begins an alias",
}
"""What to try where the parser's words say little; by how its message begins."""


def _mending(said: str, lines: Sequence[str], column: int) -> str | None:
    """The likeliest edit for a parser's complaint at a column of a line (none or one in `lines`)."""
    if "cannot start any token" in said and lines:
        character = lines[0][column - 1 : column]
        if character == "\t":
            return "indent with spaces; YAML allows no tab there"
        return f"put the text in quotes: `{character}` begins no plain text" if character else None
    return next((fix for begin, fix in _MENDING.items() if said.startswith(begin)), None)


def _refuse_deep(text: str, path: str, code: str) -> None:
    # The composer recurses in C without a guard, so depth is measured on events first; only odd files come here.
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    mark = event.start_mark
                    line = mark.line + 1 if mark is not None else 1
                    message = f"nested deeper than {MAX_DEPTH} levels"
                    raise BfclError(Problem(code=code, path=path, line=line, message=message))
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # the composer reports it


class _YamlReader:
    """Nodes to values, collecting every problem."""

    def __init__(self, path: str, code: str) -> None:
        self.problems: list[Problem] = []
        self._path = path
        self._code = code
        self._nodes = 0
        self._open: set[int] = set()

    def read(self, node: Any, depth: int) -> Json:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._refuse(node, f"aliases expand to more than {MAX_NODES} values")
            raise BfclError(self.problems)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._open or depth > MAX_DEPTH:
            self._refuse(node, "an alias contains itself or nests too deep")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                self._check_tag(node, _SEQ, "seq")
                return [self.read(child, depth + 1) for child in node.value]
            self._check_tag(node, _MAP, "map")
            return self._mapping(node, depth)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: Any, depth: int) -> Json:
        value: dict[str, Json] = {}
        merged: list[Json] = []
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag == _PLAIN and key_node.value == "<<":
                merged.append(self.read(value_node, depth + 1))
                continue
            key = self.read(key_node, depth + 1)
            if not isinstance(key, str):
                said = canonical_word(key)
                self._refuse(key_node, f"key {said} is not text; expected a string", "quote the key")
                continue
            if key in value:
                self._refuse(key_node, f"key {key!r} is given twice in one mapping", "keep one of the two")
                continue
            value[key] = self.read(value_node, depth + 1)
        for source in merged:
            for one in source if isinstance(source, list) else [source]:
                if not isinstance(one, dict):
                    self._refuse(node, "a merge key `<<` takes a mapping or a list of mappings")
                    break
                value = {**one, **value}
        return value

    def _scalar(self, node: Any) -> Json:
        text: str = node.value
        tag: str = node.tag
        if tag == _QUOTED or tag == _STANDARD + "str":
            return text
        if tag != _PLAIN and tag not in {_STANDARD + kind for kind in ("int", "float", "bool", "null")}:
            self._refuse(node, f"tag {tag!r} is not supported", "remove the tag")
            return None
        if text in _WORDS:
            return _WORDS[text]
        first = text[0]
        if first in "-0123456789":
            if _INTEGER.match(text):
                if len(text) > _MAX_INTEGER_DIGITS:
                    self._refuse(node, f"an integer of {len(text)} digits is too long", "quote it to keep it as text")
                    return None
                return int(text)
            if _FLOAT.match(text):
                number = float(text)
                if number in (float("inf"), float("-inf")):
                    self._refuse(node, f"{text} is not a finite number", "quote it to keep it as text")
                return number
        if text.lower() in _NON_FINITE:
            self._refuse(node, f"{text} is not a finite number", "quote it to keep it as text")
            return None
        if tag != _PLAIN:
            self._refuse(node, f"tag {tag!r} does not fit {text!r}", "remove the tag")
        return text

    def _check_tag(self, node: Any, plain: str, standard: str) -> None:
        if node.tag not in (plain, _STANDARD + standard):
            self._refuse(node, f"tag {node.tag!r} is not supported", "remove the tag")

    def _refuse(self, node: Any, message: str, fix: str | None = None) -> None:
        mark = node.start_mark
        self.problems.append(
            Problem(
                code=self._code, path=self._path, line=mark.line + 1, column=mark.column + 1, message=message, fix=fix
            )
        )


def canonical_word(value: Json) -> str:
    """A value as JSON text for a message, shortened to 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


@functools.lru_cache(maxsize=4)
def _nodes(text: str) -> Any:
    # Reports ask for many places in the same few files.
    return _Composer(text).get_single_node()


def _yaml_place(text: str, pointer: Pointer) -> Place:
    node = _nodes(text)
    mark = node.start_mark if node is not None else None
    for part in pointer:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == part), None)
            if pair is None:
                break
            mark, node = pair[0].start_mark, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            break
    return Place(mark.line + 1, mark.column + 1) if mark is not None else Place(1, 1)


# --- JSON ---------------------------------------------------------------------------------------------------------


class _DuplicateKey(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def _not_json(error: json.JSONDecodeError, path: str, code: str) -> BfclError:
    return BfclError(
        Problem(code=code, path=path, line=error.lineno, column=error.colno, message=f"not JSON: {error.msg}")
    )


class _NonFinite(Exception):
    def __init__(self, text: str) -> None:
        self.text = text


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKey(key)
            seen.add(key)
    return value


def _refuse_constant(text: str) -> Json:
    raise _NonFinite(text)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _NonFinite(text)
    return number


def _lone_surrogate(text: str, value: Json) -> Place | None:
    if "\\u" not in text and "\\U" not in text:
        return None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        found = re.search(r"\\u[dD][89a-fA-F]", text)
        return _at(text, found.start() if found else 0)
    return None


class _Child(NamedTuple):
    """One entry of a container: its key or index, and the offsets where the key and the value stand."""

    key: str | int
    key_at: int
    value_at: int


class _JsonScanner:
    """Walks valid JSON text to find where a pointer's value stands; what was walked once is remembered."""

    _SPACE = re.compile(r"[ \t\n\r]*")
    _raw_decode = json.JSONDecoder().raw_decode

    def __init__(self, text: str) -> None:
        self._text = text
        self._children: dict[int, dict[str | int, _Child]] = {}

    def place(self, pointer: Pointer) -> Place:
        at = shown = self._space(0)
        for part in pointer:
            child = self._container(at).get(part)
            if child is None:
                break
            at, shown = child.value_at, child.key_at
        return _at(self._text, shown)

    def duplicate(self, at: int | None = None) -> Place | None:
        """Where the key stands that repeats another one, in the object that closes first: the one the parser meets."""
        seen: set[str | int] = set()
        repeated = None
        for child in self._entries(self._space(0) if at is None else at):
            inner = self.duplicate(child.value_at)
            if inner is not None:
                return inner
            if child.key in seen and repeated is None:
                repeated = _at(self._text, child.key_at)
            seen.add(child.key)
        return repeated

    def _container(self, at: int) -> dict[str | int, _Child]:
        if at not in self._children:
            self._children[at] = {child.key: child for child in self._entries(at)}
        return self._children[at]

    def _entries(self, at: int) -> list[_Child]:
        """The entries of the container at an offset, in order; [] for any other value."""
        text = self._text
        opening = text[at : at + 1]
        found: list[_Child] = []
        if opening not in ("{", "["):
            return found
        at = self._space(at + 1)
        while text[at] not in "}]":
            key_at, key = at, len(found)
            if opening == "{":
                name, end = self._raw_decode(text, at)
                at = self._space(self._space(end) + 1)
                found.append(_Child(name, key_at, at))
            else:
                found.append(_Child(key, key_at, at))
            at = self._space(self._raw_decode(text, at)[1])
            if text[at] == ",":
                at = self._space(at + 1)
        return found

    def _space(self, at: int) -> int:
        found = self._SPACE.match(self._text, at)
        return found.end() if found else at


@functools.lru_cache(maxsize=4)
def _scanner(text: str) -> _JsonScanner:
    # Reports ask for many places in the same few files.
    return _JsonScanner(text)


def _at(text: str, offset: int) -> Place:
    start = text.rfind("\n", 0, offset) + 1
    return Place(text.count("\n", 0, offset) + 1, offset - start + 1)


_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)

_BRACKETS = re.compile(r"[\[{]|[\]}]")


def _depth(text: str) -> int:
    """The deepest bracket nesting, strings not told apart: an upper estimate that is cheap."""
    depth = deepest = 0
    for found in _BRACKETS.finditer(text):
        if found.group() in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest
