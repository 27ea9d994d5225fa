"""The benchmark as a Berkeley multi-turn category: questions and possible answers. Rule: generation.md §7.

Two JSON Lines files joined by `id`. What that layout cannot say travels in the question under `x-nemotron`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from bfcl.canonical import Json
from bfcl.errors import Problem, StageError, raise_all
from bfcl.exports.decode import row_problem
from bfcl.exports.decode_row import UNSUPPORTED_LAYOUT
from bfcl.exports.exact import exact_digest
from bfcl.exports.format import Format, Piece, Truth, json_line, read_json_lines, reading
from bfcl.exports.python_call import NotPython, read_call, write_call
from bfcl.exports.row import ExportCall, ExportRow, Source, cut_by_user

QUESTIONS: Final = "BFCL_v4_multi_turn.jsonl"
ANSWERS: Final = "possible_answer/BFCL_v4_multi_turn.jsonl"
EXTENSION: Final = "x-nemotron"

SCHEMA_VERSION: Final = "1.0"
UPSTREAM_SCHEMA_VERSION: Final = "BFCL_v4_multi_turn"

_ELSEWHERE: Final = frozenset(
    {"task_id", "messages", "tools", "expected_tool_calls", "success_assertions", "call_order", "call_order_prefix"}
)
"""Columns that a question carries beside its descriptors; `metadata` is carried decoded, as `surface`."""


class BfclJsonWriter:
    """A question line and an answer line a row."""

    def add(self, row: ExportRow) -> Iterable[Piece]:
        """Both lines. Raises: StageError `unsupported_export_call_layout` for every call that Python cannot write."""
        return (json_line(QUESTIONS, question(row)), json_line(ANSWERS, answer(row)))

    def finish(self, source: Source) -> Iterable[Piece]:  # noqa: ARG002 every file of this format is made of rows
        """Nothing: every file is made of rows."""
        return ()


def question(row: ExportRow) -> dict[str, Json]:
    """The question of a row."""
    return {
        "id": row.task_id,
        "question": _asked(row.messages),
        "function": [tool["function"] for tool in row.tools],
        EXTENSION: {
            "schema_version": SCHEMA_VERSION,
            "upstream_schema_version": UPSTREAM_SCHEMA_VERSION,
            "messages": row.messages,
            "tools": row.tools,
            "expected_tool_calls": [call.to_json() for call in row.calls],
            "success_assertions": row.published["success_assertions"],
            "call_order": row.published["call_order"],
            "call_order_prefix": row.published["call_order_prefix"],
            "call_groups": [group.to_json() for group in row.groups],
            "metadata": _descriptors(row),
        },
    }


def _asked(messages: Sequence[Mapping[str, Json]]) -> list[Json]:
    """What a model is told of every user turn before it acts: system and user text."""
    return [
        [
            {"role": message["role"], "content": message["content"]}
            for message in turn
            if message["role"] in ("system", "user")
        ]
        for turn in cut_by_user(messages)
    ]


def answer(row: ExportRow) -> dict[str, Json]:
    """The possible answer of a row. Raises: StageError `unsupported_export_call_layout` with every fault of the row."""
    problems: list[Problem] = []
    turns = [[_written(row, call, problems) for call in calls] for calls in row.calls_by_user_turn()]
    raise_all(StageError, problems)
    return {"id": row.task_id, "ground_truth": turns}


def _written(row: ExportRow, call: ExportCall, problems: list[Problem]) -> str:
    try:
        return write_call(call)
    except NotPython as fault:
        problems.append(row_problem(UNSUPPORTED_LAYOUT, row.task_id, str(fault)))
        return ""


def _descriptors(row: ExportRow) -> dict[str, Json]:
    columns = cast("Mapping[str, Json]", row.published)
    kept = {name: value for name, value in columns.items() if name not in _ELSEWHERE and name != "metadata"}
    return {**kept, "surface": row.metadata}


def read_back(directory: Path) -> Iterator[Truth]:
    """The rows in question order, then what answers no question or answers one again.

    A field that `question`, `function` or the answer tells otherwise than `x-nemotron` comes back as no value of a row.
    Raises: Unreadable.
    """
    answers: dict[str, bytes] = {}
    left: list[str] = []
    for number, answered in enumerate(read_json_lines(directory / ANSWERS), 1):
        with reading(f"{ANSWERS}:{number}"):
            task_id = str(answered["id"])
            turns = cast("list[list[str]]", answered["ground_truth"])
            told = exact_digest([[[*read_call(text)] for text in turn] for turn in turns])
        if answers.setdefault(task_id, told) is not told:
            left.append(task_id)
    unasked = dict.fromkeys(answers)
    for number, asked in enumerate(read_json_lines(directory / QUESTIONS), 1):
        with reading(f"{QUESTIONS}:{number}"):
            truth = _truth(asked, answers.get(str(asked["id"])))
        unasked.pop(truth.task_id, None)
        yield truth
    for task_id in (*unasked, *left):
        yield Truth(task_id=task_id)


def _truth(asked: Mapping[str, Json], answered: bytes | None) -> Truth:
    extension = cast("Mapping[str, Json]", asked[EXTENSION])
    messages = cast("list[Mapping[str, Json]]", extension["messages"])
    calls = cast("list[Mapping[str, Json]]", extension["expected_tool_calls"])
    tools = [{"type": "function", "function": function} for function in cast("list[Json]", asked["function"])]
    return Truth(
        task_id=str(asked["id"]),
        messages=_agreed(messages, exact_digest(asked["question"]), _asked(messages)),
        tools=_agreed(extension["tools"], exact_digest(tools), extension["tools"]),
        expected_tool_calls=_agreed(calls, answered, _by_turn(extension, calls)),
        success_assertions=extension["success_assertions"],
        call_order=extension["call_order"],
        call_order_prefix=extension["call_order_prefix"],
    )


def _agreed(value: Json, told: bytes | None, expected: Json) -> Json:
    """The value where another place tells what is expected of it, else null, which no such value is."""
    return value if told == exact_digest(expected) else None


def _by_turn(extension: Mapping[str, Json], calls: list[Mapping[str, Json]]) -> Json:
    """The calls of the question as its answer is to tell them."""
    messages = cast("list[Mapping[str, Json]]", extension["messages"])
    turns: list[list[Json]] = [[] for message in messages if message["role"] == "user"]
    for group in cast("list[Mapping[str, Json]]", extension["call_groups"]):
        turn = turns[cast("int", group["user_turn_index"])]
        for index in cast("list[int]", group["calls"]):
            turn.append([calls[index]["function_name"], calls[index]["arguments"]])
    return turns


FORMAT: Final = Format(name="bfcl_json", schema_version=SCHEMA_VERSION, writer=BfclJsonWriter, read_back=read_back)
