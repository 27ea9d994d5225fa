"""Published rows that begin alike, or whose values come out of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bfcl.canonical import Json, canonical_text
from bfcl.exports.row import ExportRow
from bfcl.tables.benchmark import BenchmarkRow
from tests.exports.staged import decoded, edited, plain_row, row

__all__ = ["answer", "conversation", "dependent_row", "plain_row", "row", "rows", "valve_row"]


def rows(count: int = 3) -> list[ExportRow]:
    """Tasks 1 to `count`: read twice in one group, set after a yes."""
    return [decoded(row(number)) for number in range(1, count + 1)]


def valve_row(
    number: int, *, asks: str | None = None, reply: str | None = None, says: str | None = None
) -> BenchmarkRow:
    """A good row with another first question, another text before the yes, another yes."""
    made = row(number)
    for place, text in ((1, asks), (5, reply), (6, says)):
        if text is not None:
            made = edited(made, ["messages", place, "content"], text)
    return made


def dependent_row(number: int = 1) -> BenchmarkRow:
    """A row whose last call sets the valve and the pressure that the first two calls have told."""
    made = edited(row(number), ["turn_policy"], "dependent_call")
    results: dict[int, Json] = {3: {"next": {"valve": "V-9", "bar": 7}}, 4: {"items": [{"bar": 7}]}}
    for place, result in results.items():
        made = edited(made, ["messages", place, "content"], canonical_text(result))
    arguments: Mapping[str, Json] = {"bar": 7, "valve": "V-9"}
    pairs = [(name, canonical_text(value)) for name, value in arguments.items()]
    made = edited(made, ["expected_tool_calls", 2, "arguments"], pairs)
    return edited(made, ["messages", 7, "tool_calls", 0, "function", "arguments"], canonical_text(arguments))


def conversation(of: BenchmarkRow, until: int) -> list[dict[str, Json]]:
    """The first messages of a row as a client sends them."""
    return [dict(message) for message in decoded(of).messages[:until]]


def answer(message: Any, call_id: str, content: str) -> dict[str, Json]:
    """A tool's answer in place of another."""
    return {**message, "tool_call_id": call_id, "content": content}
