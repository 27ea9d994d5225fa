"""Questions and answers in Berkeley's layout."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bfcl.digest import sha256_of
from bfcl.errors import StageError
from bfcl.exports.bfcl_json import ANSWERS, FORMAT, QUESTIONS, answer, question
from bfcl.exports.tree_hash import tree_hash
from tests.exports.staged import decoded, edited, plain_row, row, row_with_arguments, tree

ROWS = [row(1), plain_row(2)]


def told(rows: Any = ROWS) -> tuple[list[Any], list[Any]]:
    files = tree(FORMAT, rows)
    assert set(files) == {"BFCL_v4_multi_turn.jsonl", "possible_answer/BFCL_v4_multi_turn.jsonl"}
    questions, answers = ([json.loads(line) for line in files[name].splitlines()] for name in (QUESTIONS, ANSWERS))
    return questions, answers


def test_files_are_compact_sorted_lines_in_publication_order_joined_by_id() -> None:
    files = tree(FORMAT, ROWS)
    for data in files.values():
        assert data.endswith(b"\n")
        lines = data.decode().split("\n")[:-1]
        again = [
            json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False) for line in lines
        ]
        assert lines == again
        assert [json.loads(line)["id"] for line in lines] == [each["task_id"] for each in ROWS]
    assert "bär".encode() in files[QUESTIONS]


def test_tree_is_pinned() -> None:
    files = {name: sha256_of(data) for name, data in tree(FORMAT, ROWS).items()}
    assert tree_hash(files) == "sha256:b42f612e95b808a521a43fad4ec4e795ff37ed78f455b00e5a5a63b2bc06d700"


def test_question_holds_a_list_a_user_turn_with_role_and_content_alone() -> None:
    asked = told()[0][0]
    assert asked["question"] == [
        [
            {"role": "system", "content": "You operate the valves."},
            {"role": "user", "content": "Check V-1, then set it to 1 bär."},
        ],
        [{"role": "user", "content": "Yes."}],
    ]
    assert [function["name"] for function in asked["function"]] == ["read_valve", "set_valve", "list_alarms"]
    assert set(asked) == {"id", "question", "function", "x-nemotron"}


def test_extension_carries_what_the_layout_cannot_say() -> None:
    read = decoded(row(1))
    extension: Any = question(read)["x-nemotron"]
    assert list(extension) == [
        "schema_version",
        "upstream_schema_version",
        "messages",
        "tools",
        "expected_tool_calls",
        "success_assertions",
        "call_order",
        "call_order_prefix",
        "call_groups",
        "metadata",
    ]
    assert (extension["schema_version"], extension["upstream_schema_version"]) == ("1.0", "BFCL_v4_multi_turn")
    assert extension["call_groups"] == [
        {"turn_index": 0, "call_group": 0, "user_turn_index": 0, "is_parallel": True, "calls": (0, 1)},
        {"turn_index": 2, "call_group": 1, "user_turn_index": 1, "is_parallel": False, "calls": (2,)},
    ]
    metadata = extension["metadata"]
    assert metadata["surface"] == json.loads(row(1)["metadata"])
    carried = {
        "task_id",
        "messages",
        "tools",
        "expected_tool_calls",
        "success_assertions",
        "call_order",
        "call_order_prefix",
    }
    assert set(metadata) == {*row(1)} - carried - {"metadata"} | {"surface"}
    assert metadata["seed"] == row(1)["seed"]


def test_answer_is_python_text_by_user_turn_with_empty_turns_kept() -> None:
    assert [each["ground_truth"] for each in told()[1]] == [
        [["read_valve(valve='V-1')", "read_valve(valve='V-0')"], ["set_valve(valve='V-1', bar=1)"]],
        [[]],
    ]


def test_answer_refuses_every_call_that_python_cannot_write() -> None:
    told_row = row_with_arguments({"from": 1}, name="set-valve")
    broken = edited(told_row, ["expected_tool_calls", 0, "arguments"], [("bar psi", "1")])
    broken = edited(broken, ["messages", 2, "tool_calls", 0, "function", "arguments"], '{"bar psi":1}')
    with pytest.raises(StageError) as refused:
        answer(decoded(broken))
    assert [str(problem) for problem in refused.value.problems] == [
        f"unsupported_export_call_layout: {broken['task_id']}: {what} is no Python identifier, or a keyword\n"
        "  fix: fix the pack or generate again; never patch an export"
        for what in ("argument `bar psi` of `read_valve`", "function `set-valve`")
    ]
