"""What must a format provide to be written, read back and published? Rule: generation.md §7.

A format is pure both ways: rows go in and pieces of files come out while the table streams by once, and the tree on
disk comes back as the truth fields it carries. Who drives them (`export`) owns files, hashes and comparison.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, cast

from bfcl.canonical import Json, canonical_json
from bfcl.exports.row import ExportRow, Source

TruthField: TypeAlias = Literal[
    "task_id",
    "messages",
    "tools",
    "expected_tool_calls",
    "success_assertions",
    "call_order",
    "call_order_prefix",
]

TRUTH_FIELDS: Final[tuple[TruthField, ...]] = (
    "task_id",
    "messages",
    "tools",
    "expected_tool_calls",
    "success_assertions",
    "call_order",
    "call_order_prefix",
)


class Piece(NamedTuple):
    """Bytes to append to a file of the format. `name` is POSIX and relative to the format's own directory."""

    name: str
    data: bytes


def json_line(name: str, value: Json) -> Piece:
    """One compact line, keys sorted, UTF-8 unescaped, of a JSON Lines file."""
    return Piece(name, canonical_json(value) + b"\n")


class Writer(Protocol):
    """Turns one run's rows into files. Every name must be told by the end, with the rows or after them."""

    def add(self, row: ExportRow) -> Iterable[Piece]:
        """The pieces one row adds, in publication order.

        Raises: StageError with every problem of this row; the driver reads on, so that all rows are told at once.
        """
        ...

    def finish(self, source: Source) -> Iterable[Piece]:
        """The pieces that only the whole table decides. Raises: StageError with every problem."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The truth fields of one exported row, as its bytes on disk tell them; those a format does not carry stay None.

    `messages` in chat protocol form and `expected_tool_calls` with decoded arguments: as `truth_of` makes them.
    """

    task_id: str
    messages: Json = None
    tools: Json = None
    expected_tool_calls: Json = None
    success_assertions: Json = None
    call_order: Json = None
    call_order_prefix: Json = None


def truth_of(row: ExportRow) -> Truth:
    """What a faithful export of this row tells."""
    return Truth(
        task_id=row.task_id,
        messages=row.messages,
        tools=row.tools,
        expected_tool_calls=[call.to_json() for call in row.calls],
        success_assertions=row.published["success_assertions"],
        call_order=row.published["call_order"],
        call_order_prefix=row.published["call_order_prefix"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One export format."""

    name: str
    """Its configuration key and its directory below `exports/`."""
    schema_version: str
    writer: Callable[[], Writer]
    """A new writer for one run."""
    read_back: Callable[[Path], Iterator[Truth]]
    """The rows below the format's directory, in file order. Raises: Unreadable."""
    carries: tuple[TruthField, ...] = TRUTH_FIELDS
    """The fields that its files restate, `task_id` among them; only these are compared."""


class Unreadable(Exception):
    """Exported bytes do not read back; what was read before still counts."""


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Bytes that may have been altered on the disk: whatever shape they lack is Unreadable, naming `place`."""
    try:
        yield
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, SyntaxError, RecursionError) as error:
        raise Unreadable(f"{place}: {type(error).__name__}: {error}") from None


def read_json_lines(path: Path) -> Iterator[Mapping[str, Json]]:
    """The objects of a JSON Lines file, one at a time. Raises: Unreadable."""
    with reading(path.name):
        stream = path.open("rb")
    with stream:
        for number, line in enumerate(stream, 1):
            with reading(f"{path.name}:{number}"):
                value = json.loads(line, parse_constant=_refuse)
                if not isinstance(value, dict):
                    raise TypeError("not an object")
            yield cast("Mapping[str, Json]", value)


def read_json(path: Path) -> Mapping[str, Json]:
    """The object of a JSON file. Raises: Unreadable."""
    with reading(path.name):
        value = json.loads(path.read_bytes(), parse_constant=_refuse)
        if not isinstance(value, dict):
            raise TypeError("not an object")
    return cast("Mapping[str, Json]", value)


def _refuse(text: str) -> Json:
    raise ValueError(f"{text} is no JSON number")
