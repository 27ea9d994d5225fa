"""The benchmark as chat fine-tuning examples: one conversation with tool calls a line. Rule: generation.md §7.

The shape is the one OpenAI documents for supervised fine-tuning and most trainers read. Services refuse keys they do
not know, so everything else a row is travels in a second file, line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Final, cast

from bfcl.canonical import Json
from bfcl.exports.format import Format, Piece, Truth, json_line, read_json_lines, reading
from bfcl.exports.row import ExportRow, Source

CONVERSATIONS: Final = "conversations.jsonl"
INDEX: Final = "index.jsonl"

SCHEMA_VERSION: Final = "1.0"


class ChatWriter:
    """A conversation line and an index line a row."""

    def __init__(self) -> None:
        self._lines = 0

    def add(self, row: ExportRow) -> Iterable[Piece]:
        """Both lines."""
        self._lines += 1
        return (json_line(CONVERSATIONS, conversation(row)), json_line(INDEX, _index(row, self._lines)))

    def finish(self, source: Source) -> Iterable[Piece]:  # noqa: ARG002 every file of this format is made of rows
        """Nothing: every file is made of rows."""
        return ()


def conversation(row: ExportRow) -> dict[str, Json]:
    """The example of a row: `messages`, and where tools are offered `tools` and `parallel_tool_calls`."""
    messages = [_message(message) for message in row.messages]
    if not row.tools:
        # An empty list of tools is refused, and the flag with it.
        return {"messages": messages}
    # A permission, not a description: were it false wherever one call is made, a model would learn to read it as the
    # announcement of several.
    return {"messages": messages, "tools": row.tools, "parallel_tool_calls": True}


def _message(message: Mapping[str, Json]) -> Mapping[str, Json]:
    """A message that calls tools says nothing: its null content is left out, as the documented examples do."""
    return {key: value for key, value in message.items() if key != "content" or value is not None}


def _index(row: ExportRow, line: int) -> dict[str, Json]:
    return {
        "schema_version": SCHEMA_VERSION,
        "line": line,
        "task_id": row.task_id,
        "template_id": row.published["template_id"],
        "turn_policy": row.published["turn_policy"],
        "category": row.published["category"],
        "difficulty": row.published["difficulty"],
        "language": row.metadata["language"],
        "expected_tool_calls": [call.to_json() for call in row.calls],
        "success_assertions": row.published["success_assertions"],
        "call_order": row.published["call_order"],
        "call_order_prefix": row.published["call_order_prefix"],
    }


def read_back(directory: Path) -> Iterator[Truth]:
    """The rows as both files tell them, joined by line number. Raises: Unreadable."""
    lines = zip_longest(read_json_lines(directory / CONVERSATIONS), read_json_lines(directory / INDEX))
    for number, (told, index) in enumerate(lines, 1):
        with reading(f"{CONVERSATIONS}:{number}"):
            truth = _truth(told, index, number)
        yield truth


def _truth(told: Mapping[str, Json] | None, index: Mapping[str, Json] | None, number: int) -> Truth:
    if index is None:
        raise ValueError(f"{INDEX} has no line {number}")
    if index["line"] != number:
        raise ValueError(f"{INDEX} calls its line {number} {index['line']}")
    if told is None:
        return Truth(task_id=cast("str", index["task_id"]))
    if set(told) - {"messages", "tools", "parallel_tool_calls"} or told.get("parallel_tool_calls", True) is not True:
        raise ValueError("keys of no example")
    return Truth(
        task_id=cast("str", index["task_id"]),
        messages=[_restored(message) for message in cast("list[Mapping[str, Json]]", told["messages"])],
        tools=told.get("tools", []),
        expected_tool_calls=index["expected_tool_calls"],
        success_assertions=index["success_assertions"],
        call_order=index["call_order"],
        call_order_prefix=index["call_order_prefix"],
    )


def _restored(message: Mapping[str, Json]) -> Mapping[str, Json]:
    return {**message, "content": None} if "tool_calls" in message and "content" not in message else message


FORMAT: Final = Format(name="openai_chat_jsonl", schema_version=SCHEMA_VERSION, writer=ChatWriter, read_back=read_back)
