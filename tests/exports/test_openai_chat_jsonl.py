"""Chat fine-tuning examples: their shape, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.exports.format import Unreadable, truth_of
from bfcl.exports.openai_chat_jsonl import CONVERSATIONS, FORMAT, INDEX
from bfcl.exports.read_back import digests_of, read_tree
from bfcl.exports.row import ExportRow
from tests.exports.staged import decoded, edited, plain_row, row, rows, tree

TABLE = [*rows(2), plain_row()]


def lines(files: dict[str, bytes], name: str) -> list[Any]:
    return [json.loads(line) for line in files[name].decode().splitlines()]


def lay(directory: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (directory / name).write_bytes(data)


def read(directory: Path, of: list[ExportRow]) -> Any:
    return read_tree(FORMAT, directory, [digests_of(truth_of(each)) for each in of])


def test_example_has_the_documented_keys_and_messages_without_nulls() -> None:
    (example,) = lines(tree(FORMAT, [row(1)]), CONVERSATIONS)
    assert list(example) == ["messages", "parallel_tool_calls", "tools"]
    assert example["parallel_tool_calls"] is True
    assert [message["role"] for message in example["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    asked, answered = example["messages"][2:4]
    assert asked == {
        "role": "assistant",
        "tool_calls": [
            {"id": "call_0", "type": "function", "function": {"name": "read_valve", "arguments": '{"valve":"V-1"}'}},
            {"id": "call_1", "type": "function", "function": {"name": "read_valve", "arguments": '{"valve":"V-0"}'}},
        ],
    }
    assert answered == {
        "role": "tool",
        "tool_call_id": "call_0",
        "content": '{"grade":"ä","status":"ok","valve":"V-1"}',
    }
    assert [tool["function"]["name"] for tool in example["tools"]] == ["read_valve", "set_valve", "list_alarms"]


def test_row_without_calls_is_an_example_too() -> None:
    (example,) = lines(tree(FORMAT, [plain_row()]), CONVERSATIONS)
    assert [sorted(message) for message in example["messages"]] == [["content", "role"]] * 3
    assert len(example["tools"]) == 3


def test_row_without_tools_leaves_out_tools_and_their_flag(tmp_path: Path) -> None:
    bare = edited(edited(plain_row(), ["tools"], "[]"), ["tools_present"], [])
    files = tree(FORMAT, [bare])
    assert list(lines(files, CONVERSATIONS)[0]) == ["messages"]
    lay(tmp_path, files)
    assert read(tmp_path, [decoded(bare)]).failures == ()


def test_index_names_the_row_of_every_line() -> None:
    files = tree(FORMAT, TABLE)
    index = lines(files, INDEX)
    assert [(entry["line"], entry["task_id"]) for entry in index] == [
        (number, each["task_id"]) for number, each in enumerate(TABLE, 1)
    ]
    assert list(index[2]) == [
        "call_order",
        "call_order_prefix",
        "category",
        "difficulty",
        "expected_tool_calls",
        "language",
        "line",
        "schema_version",
        "success_assertions",
        "task_id",
        "template_id",
        "turn_policy",
    ]
    assert index[0]["expected_tool_calls"][2]["arguments"] == {"bar": 1, "valve": "V-1"}


def test_bytes_are_compact_sorted_unescaped_lines() -> None:
    files = tree(FORMAT, TABLE)
    assert set(files) == {CONVERSATIONS, INDEX}
    assert files == tree(FORMAT, TABLE)
    assert "bär".encode() in files[CONVERSATIONS]
    for data in files.values():
        assert data.count(b"\n") == 3
        assert data.endswith(b"\n")
        assert b'": ' not in data


def test_read_back_is_equal(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, TABLE))
    found = read(tmp_path, [decoded(each) for each in TABLE])
    assert (found.rows, found.failures, found.unreadable) == (3, (), None)


@pytest.mark.parametrize(
    ("name", "old", "new", "field"),
    [
        (CONVERSATIONS, b'"content":"Yes."', b'"content":"No."', "messages"),
        (CONVERSATIONS, b"Sets a valve", b"Gets a valve", "tools"),
        (INDEX, b'"bar":1,', b'"bar":1.0,', "expected_tool_calls"),
        (INDEX, b'["assert_set"]', b"[]", "success_assertions"),
        (INDEX, b'"call_order":"strict"', b'"call_order":"any"', "call_order"),
        (INDEX, b'"call_order_prefix":null', b'"call_order_prefix":1', "call_order_prefix"),
    ],
)
def test_read_back_sees_a_changed_field(tmp_path: Path, name: str, old: bytes, new: bytes, field: str) -> None:
    files = tree(FORMAT, [row(1)])
    assert old in files[name]
    lay(tmp_path, files | {name: files[name].replace(old, new, 1)})
    found = read(tmp_path, [decoded(row(1))])
    assert [(failure.reason, failure.field) for failure in found.failures] == [("truth_field_changed", field)]


def test_read_back_sees_exchanged_conversations(tmp_path: Path) -> None:
    files = tree(FORMAT, rows(2))
    one, two = files[CONVERSATIONS].splitlines(keepends=True)
    lay(tmp_path, files | {CONVERSATIONS: two + one})
    found = read(tmp_path, [decoded(each) for each in rows(2)])
    assert {failure.field for failure in found.failures} == {"messages"}
    assert len(found.failures) == 2


@pytest.mark.parametrize(
    ("name", "keep", "message"),
    [
        (INDEX, 1, "conversations.jsonl:2: ValueError: index.jsonl has no line 2"),
        (INDEX, -1, "conversations.jsonl:1: ValueError: index.jsonl calls its line 1 2"),
    ],
)
def test_read_back_refuses_an_index_that_does_not_fit(tmp_path: Path, name: str, keep: int, message: str) -> None:
    files = tree(FORMAT, rows(2))
    kept = files[name].splitlines(keepends=True)
    lay(tmp_path, files | {name: b"".join(kept[:keep] if keep > 0 else kept[keep:])})
    with pytest.raises(Unreadable, match=message):
        list(FORMAT.read_back(tmp_path))


def test_read_back_misses_a_conversation_that_is_gone(tmp_path: Path) -> None:
    files = tree(FORMAT, rows(2))
    lay(tmp_path, files | {CONVERSATIONS: files[CONVERSATIONS].splitlines(keepends=True)[0]})
    found = read(tmp_path, [decoded(each) for each in rows(2)])
    assert {(failure.task_id, failure.field) for failure in found.failures} == {
        (row(2)["task_id"], "messages"),
        (row(2)["task_id"], "tools"),
        *[(row(2)["task_id"], field) for field in ("expected_tool_calls", "success_assertions", "call_order")],
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"parallel_tool_calls":true', b'"parallel_tool_calls":false'), (b'"tools":', b'"weight":1,"tools":')],
)
def test_read_back_refuses_other_keys(tmp_path: Path, old: bytes, new: bytes) -> None:
    files = tree(FORMAT, [row(1)])
    lay(tmp_path, files | {CONVERSATIONS: files[CONVERSATIONS].replace(old, new, 1)})
    with pytest.raises(Unreadable, match=r"conversations\.jsonl:1: ValueError: keys of no example"):
        list(FORMAT.read_back(tmp_path))
