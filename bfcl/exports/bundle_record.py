"""What is one record of the evaluator bundle, and what does it tell back? Rule: generation.md §7.

The TypedDicts are the definition: `dataset.schema.json` is generated from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from bfcl.canonical import Json
from bfcl.exports.exact import exact_digest
from bfcl.exports.format import Truth
from bfcl.exports.row import ExportRow

SCHEMA_VERSION: Final = "1.0"


class Function(TypedDict):
    """Name of a call and canonical JSON text of its arguments."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    """A call in chat protocol form."""

    id: str
    type: Literal["function"]
    function: Function


class SeedMessage(TypedDict):
    """A message the model is given at the start."""

    role: Literal["system", "user"]
    content: str


class UserMessage(TypedDict):
    """A user's words."""

    role: Literal["user"]
    content: str


class AssistantMessage(TypedDict):
    """An assistant's text, or its calls beside null content."""

    role: Literal["assistant"]
    content: str | None
    tool_calls: NotRequired[list[ToolCall]]


class ToolMessage(TypedDict):
    """The answer to one call."""

    role: Literal["tool"]
    content: str
    tool_call_id: str


class AnyMessage(TypedDict):
    """Any message of the reference conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None
    tool_calls: NotRequired[list[ToolCall]]
    tool_call_id: NotRequired[str]


class ReplayStep(TypedDict):
    """One user turn: what the user says, the calls then expected, and what the reference answered."""

    user_turn_index: int
    user_message: UserMessage
    expected_call_indexes: list[int]
    reference_assistant_messages: list[AssistantMessage]
    tool_results: list[ToolMessage]


class ToolFunction(TypedDict):
    """A tool as a model sees it."""

    name: str
    description: NotRequired[str]
    strict: NotRequired[bool]
    parameters: NotRequired[dict[str, Any]]


class ToolObject(TypedDict):
    """One entry of the tool list."""

    type: Literal["function"]
    function: ToolFunction


class ExpectedCall(TypedDict):
    """One expected call, arguments as values."""

    turn_index: int
    call_group: int
    position_in_group: int
    function_name: str
    arguments: dict[str, Any]


class DatasetRecord(TypedDict):
    """A line of `dataset.jsonl`."""

    schema_version: str
    task_id: str
    seed_messages: list[SeedMessage]
    reference_trace: list[AnyMessage]
    replay_steps: list[ReplayStep]
    tools: list[ToolObject]
    expected_tool_calls: list[ExpectedCall]
    success_assertions: list[str]
    call_order: str
    call_order_prefix: int | None
    turn_policy: str
    category: str
    difficulty: str | None


def dataset_record(row: ExportRow) -> dict[str, Json]:
    """The record of a row, shaped as `DatasetRecord`."""
    published = row.published
    return {
        "schema_version": SCHEMA_VERSION,
        "task_id": row.task_id,
        "seed_messages": row.messages[:2],
        "reference_trace": row.messages,
        "replay_steps": _steps(row),
        "tools": row.tools,
        "expected_tool_calls": [call.to_json() for call in row.calls],
        "success_assertions": published["success_assertions"],
        "call_order": published["call_order"],
        "call_order_prefix": published["call_order_prefix"],
        "turn_policy": published["turn_policy"],
        "category": published["category"],
        "difficulty": published["difficulty"],
    }


def _steps(row: ExportRow) -> list[Json]:
    indexes: dict[int, list[int]] = {}
    for group in row.groups:
        indexes.setdefault(group.user_turn_index, []).extend(group.calls)
    steps: list[Json] = []
    for number, turn in enumerate(row.user_turns()):
        told = {
            role: [message for message in turn if message["role"] == role] for role in ("user", "assistant", "tool")
        }
        steps.append(
            {
                "user_turn_index": number,
                "user_message": told["user"][0],
                "expected_call_indexes": indexes.get(number, []),
                "reference_assistant_messages": told["assistant"],
                "tool_results": told["tool"],
            }
        )
    return steps


def read_truth(record: Mapping[str, Json]) -> Truth:
    """What a record tells; messages that its seed or its steps tell otherwise come back as null."""
    trace = cast("list[Json]", record["reference_trace"])
    agreed = exact_digest(trace) == exact_digest(_replayed(record)) and exact_digest(trace[:2]) == exact_digest(
        record["seed_messages"]
    )
    return Truth(
        task_id=str(record["task_id"]),
        messages=trace if agreed else None,
        tools=record["tools"],
        expected_tool_calls=record["expected_tool_calls"],
        success_assertions=record["success_assertions"],
        call_order=record["call_order"],
        call_order_prefix=record["call_order_prefix"],
    )


def _replayed(record: Mapping[str, Json]) -> list[Json]:
    """The conversation as seed and steps alone tell it: every answer directly after the message that calls."""
    messages = [*cast("list[Json]", record["seed_messages"])[:1]]
    for step in cast("list[Mapping[str, Json]]", record["replay_steps"]):
        results = iter(cast("list[Json]", step["tool_results"]))
        messages.append(step["user_message"])
        for message in cast("list[Mapping[str, Json]]", step["reference_assistant_messages"]):
            messages.append(message)
            messages += [next(results, None) for _ in cast("list[Json]", message.get("tool_calls", []))]
        messages += results
    return messages
