"""Samples for Inspect: their shape, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.exports.format import truth_of
from bfcl.exports.inspect_ai import ABOUT, DATASET, FORMAT, TASK_FILE
from bfcl.exports.inspect_ai_task import TASK
from bfcl.exports.read_back import digests_of, read_tree
from tests.exports.staged import decoded, plain_row, row, rows, tree

TABLE = [*rows(2), plain_row()]


def samples(files: dict[str, bytes]) -> list[Any]:
    return [json.loads(line) for line in files[DATASET].decode().splitlines()]


def lay(directory: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (directory / name).write_bytes(data)


def test_sample_begins_with_what_the_model_sees_first() -> None:
    (sample,) = samples(tree(FORMAT, [row(1)]))
    assert list(sample) == ["id", "input", "metadata", "target"]
    assert sample["id"] == row(1)["task_id"]
    assert sample["input"] == [
        {"role": "system", "content": "You operate the valves."},
        {"role": "user", "content": "Check V-1, then set it to 1 bär."},
    ]
    assert [message["role"] for message in sample["metadata"]["script"]] == [
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert sample["target"] == (
        'read_valve({"valve":"V-1"})\nread_valve({"valve":"V-0"})\nset_valve({"bar":1,"valve":"V-1"})'
    )


def test_metadata_has_what_scoring_and_grouping_need() -> None:
    (sample,) = samples(tree(FORMAT, [row(1)]))
    hidden = sample["metadata"]
    assert {name: hidden[name] for name in hidden if name not in ("script", "tools", "expected_tool_calls")} == {
        "call_order": "strict",
        "call_order_prefix": None,
        "category": "valves",
        "difficulty": "easy",
        "language": "en",
        "required_tools": ["set_valve", "read_valve"],
        "success_assertions": ["assert_set"],
        "template_id": "read_then_set",
        "turn_policy": "confirmation",
    }


def test_row_without_calls_has_a_target_that_says_so() -> None:
    (sample,) = samples(tree(FORMAT, [plain_row()]))
    assert sample["target"] == "no call"
    assert [message["role"] for message in sample["metadata"]["script"]] == ["assistant"]


def test_directory_is_complete_and_the_same_every_time() -> None:
    files = tree(FORMAT, TABLE)
    assert set(files) == {DATASET, TASK_FILE, ABOUT}
    assert files == tree(FORMAT, TABLE)
    assert files[TASK_FILE] == TASK.encode()
    assert json.loads(files[ABOUT]) == {
        "schema_version": "1.0",
        "name": "plant",
        "benchmark_file": "benchmark.parquet",
        "benchmark_content_hash": "sha256:" + "0" * 64,
        "rows": 2,
        "pack_id": "plant",
        "pack_version": "1.0",
        "expt_name": "demo",
        "tier": "gold",
        "gold_eligible": True,
    }


def test_read_back_is_equal(tmp_path: Path) -> None:
    lay(tmp_path, tree(FORMAT, TABLE))
    found = read_tree(FORMAT, tmp_path, [digests_of(truth_of(decoded(each))) for each in TABLE])
    assert (found.rows, found.failures, found.unreadable) == (3, (), None)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b'"content":"Yes."', b'"content":"No."', "messages"),
        (b"You operate", b"You open", "messages"),
        (b"Sets a valve", b"Gets a valve", "tools"),
        (b'"arguments":{"bar":1,', b'"arguments":{"bar":"1",', "expected_tool_calls"),
        (b'["assert_set"]', b"[]", "success_assertions"),
        (b'"call_order":"strict"', b'"call_order":"any"', "call_order"),
        (b'"call_order_prefix":null', b'"call_order_prefix":1', "call_order_prefix"),
    ],
)
def test_read_back_sees_a_changed_field(tmp_path: Path, old: bytes, new: bytes, field: str) -> None:
    files = tree(FORMAT, [row(1)])
    assert old in files[DATASET]
    lay(tmp_path, files | {DATASET: files[DATASET].replace(old, new, 1)})
    found = read_tree(FORMAT, tmp_path, [digests_of(truth_of(decoded(row(1))))])
    assert [(failure.reason, failure.field) for failure in found.failures] == [("truth_field_changed", field)]


def test_read_back_stops_at_a_line_that_is_no_sample(tmp_path: Path) -> None:
    files = tree(FORMAT, rows(2))
    lay(tmp_path, files | {DATASET: files[DATASET] + b'{"id":"x"}\n'})
    found = read_tree(FORMAT, tmp_path, [digests_of(truth_of(decoded(each))) for each in rows(2)])
    assert (found.rows, found.unreadable) == (2, "dataset.jsonl:3: KeyError: 'metadata'")
