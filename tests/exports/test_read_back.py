"""A tree on the disk is held against its rows: every failure has its reason, every truth field is compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import canonical_json
from bfcl.exports.bfcl_json import ANSWERS, QUESTIONS
from bfcl.exports.format import Format, truth_of
from bfcl.exports.formats import FORMATS
from bfcl.exports.read_back import Failure, Tree, digests_of, read_tree
from tests.exports.staged import decoded, row, rows, tree

ROWS = rows(3)
TRUTH = [digests_of(truth_of(decoded(each))) for each in ROWS]
FIRST, SECOND, THIRD = (each["task_id"] for each in ROWS)
BFCL, BUNDLE = FORMATS["bfcl_json"], FORMATS["nemo_evaluator_bundle"]
DATASET = "dataset.jsonl"

Lines = list[Any]


def read(tmp_path: Path, form: Format, edits: dict[str, Callable[[Lines], object]]) -> Tree:
    """The tree of three rows read back after some of its JSON Lines files were edited."""
    for name, data in tree(form, ROWS).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in edits:
            lines = [json.loads(line) for line in data.splitlines()]
            edits[name](lines)
            data = b"".join(canonical_json(line) + b"\n" for line in lines)
        path.write_bytes(data)
    return read_tree(form, tmp_path, TRUTH)


def drop(index: int) -> Callable[[Lines], object]:
    return lambda lines: lines.pop(index)


def repeat(index: int) -> Callable[[Lines], object]:
    return lambda lines: lines.append(lines[index])


def swap(lines: Lines) -> None:
    lines[0], lines[1] = lines[1], lines[0]


def put(value: object, *path: str | int) -> Callable[[Lines], object]:
    def edit(lines: Lines) -> None:
        place: Any = lines[1]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return edit


@pytest.mark.parametrize("form", [BFCL, BUNDLE], ids=lambda form: form.name)
def test_tree_that_nobody_touched_tells_its_rows(tmp_path: Path, form: Format) -> None:
    told = read(tmp_path, form, {})
    assert (told.rows, told.failures, told.unreadable) == (3, (), None)


@pytest.mark.parametrize(
    ("edit", "count", "failures"),
    [
        (drop(1), 2, [Failure(SECOND, "missing_row")]),
        (repeat(0), 4, [Failure(FIRST, "duplicate_row")]),
        (swap, 3, [Failure(SECOND, "row_order_changed"), Failure(FIRST, "row_order_changed")]),
    ],
)
def test_rows_lost_repeated_or_moved_have_their_reasons(
    tmp_path: Path, edit: Callable[[Lines], object], count: int, failures: list[Failure]
) -> None:
    told = read(tmp_path, BUNDLE, {DATASET: edit})
    assert (told.rows, list(told.failures)) == (count, failures)
    (tmp_path / "both").mkdir()
    told = read(tmp_path / "both", BFCL, {QUESTIONS: edit, ANSWERS: edit})
    if edit is not swap and count == 4:
        # A question and an answer each come once too often.
        count, failures = 5, failures * 2
    assert (told.rows, list(told.failures)) == (count, failures)


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (put({"other": 1}, "expected_tool_calls", 2, "arguments"), "expected_tool_calls"),
        (put("2", "expected_tool_calls", 2, "arguments", "bar"), "expected_tool_calls"),
        (put(2.0, "expected_tool_calls", 2, "arguments", "bar"), "expected_tool_calls"),
        (put("Yes!", "reference_trace", 6, "content"), "messages"),
        (put("Yes!", "replay_steps", 1, "user_message", "content"), "messages"),
        (put("Sets", "tools", 1, "function", "description"), "tools"),
        (put([], "success_assertions"), "success_assertions"),
        (put("any", "call_order"), "call_order"),
        (put(1, "call_order_prefix"), "call_order_prefix"),
    ],
)
def test_truth_field_of_the_bundle_changed(tmp_path: Path, edit: Callable[[Lines], object], field: Any) -> None:
    told = read(tmp_path, BUNDLE, {DATASET: edit})
    assert (told.rows, list(told.failures)) == (3, [Failure(SECOND, "truth_field_changed", field)])


X = "x-nemotron"


@pytest.mark.parametrize(
    ("name", "edit", "field"),
    [
        (QUESTIONS, put(2.0, X, "expected_tool_calls", 2, "arguments", "bar"), "expected_tool_calls"),
        (QUESTIONS, put("Yes!", X, "messages", 6, "content"), "messages"),
        (QUESTIONS, put("Yes!", "question", 1, 0, "content"), "messages"),
        (QUESTIONS, put([], "question", 1), "messages"),
        (QUESTIONS, put([], "function"), "tools"),
        (QUESTIONS, put([], X, "tools"), "tools"),
        (QUESTIONS, put(["assert_other"], X, "success_assertions"), "success_assertions"),
        (QUESTIONS, put("prefix", X, "call_order"), "call_order"),
        (QUESTIONS, put(0, X, "call_order_prefix"), "call_order_prefix"),
        (QUESTIONS, put([], X, "call_groups"), "expected_tool_calls"),
        (ANSWERS, put("set_valve(valve='V-2', bar=2.0)", "ground_truth", 1, 0), "expected_tool_calls"),
        (ANSWERS, put("set_valve(valve='V-2', bar=True)", "ground_truth", 1, 0), "expected_tool_calls"),
        (ANSWERS, put([], "ground_truth", 1), "expected_tool_calls"),
        (ANSWERS, drop(1), "expected_tool_calls"),
    ],
)
def test_truth_field_of_bfcl_json_changed_in_either_file(
    tmp_path: Path, name: str, edit: Callable[[Lines], object], field: Any
) -> None:
    told = read(tmp_path, BFCL, {name: edit})
    assert (told.rows, list(told.failures)) == (3, [Failure(SECOND, "truth_field_changed", field)])


def test_row_nobody_exported_is_unexpected(tmp_path: Path) -> None:
    told = read(tmp_path, BUNDLE, {DATASET: put("plant__other__1", "task_id")})
    assert list(told.failures) == [Failure("plant__other__1", "unexpected_row"), Failure(SECOND, "missing_row")]


def test_answer_without_its_question_is_unexpected(tmp_path: Path) -> None:
    told = read(tmp_path, BFCL, {ANSWERS: lambda lines: lines.append({"id": "other", "ground_truth": []})})
    assert (told.rows, list(told.failures)) == (4, [Failure("other", "unexpected_row")])


@pytest.mark.parametrize(
    ("form", "name", "value", "path", "said"),
    [
        (BUNDLE, DATASET, 1, ("replay_steps",), "dataset.jsonl:2: TypeError: 'int' object is not iterable"),
        (BFCL, QUESTIONS, {}, (X,), "BFCL_v4_multi_turn.jsonl:2: KeyError: 'messages'"),
    ],
)
def test_reading_stops_where_a_row_has_lost_its_shape(
    tmp_path: Path, form: Format, name: str, value: object, path: tuple[str, ...], said: str
) -> None:
    told = read(tmp_path, form, {name: put(value, *path)})
    assert (told.rows, told.unreadable) == (1, said)
    assert list(told.failures) == [Failure(SECOND, "missing_row"), Failure(THIRD, "missing_row")]


def test_answer_that_is_no_call_cannot_be_read(tmp_path: Path) -> None:
    told = read(tmp_path, BFCL, {ANSWERS: put("set_valve(", "ground_truth", 1, 0)})
    assert told.unreadable == (
        "possible_answer/BFCL_v4_multi_turn.jsonl:2: SyntaxError: '(' was never closed (<unknown>, line 1)"
    )
    assert told.rows == 0


def test_only_the_fields_that_a_format_carries_are_compared(tmp_path: Path) -> None:
    partial = Format(
        name="partial",
        schema_version="1.0",
        writer=BUNDLE.writer,
        read_back=BUNDLE.read_back,
        carries=("task_id", "messages"),
    )
    told = read(tmp_path, partial, {DATASET: put("any", "call_order")})
    assert told.failures == ()
    (tmp_path / "again").mkdir()
    told = read(tmp_path / "again", partial, {DATASET: put("Yes!", "reference_trace", 6, "content")})
    assert told.failures == (Failure(SECOND, "truth_field_changed", "messages"),)


def test_digests_of_rows_differ_in_the_field_alone() -> None:
    one, other = digests_of(truth_of(decoded(row(1)))), digests_of(truth_of(decoded(row(2))))
    same = [one.digests[at : at + 32] == other.digests[at : at + 32] for at in range(0, 7 * 32, 32)]
    assert same == [False, False, True, False, True, True, True]
