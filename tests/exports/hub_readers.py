"""Started by a test inside an environment with the packages that read exports: prints what each of them sees as JSON.

Arguments: the directories of `hugging_face` and of `openai_chat_jsonl`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import datasets
import mlcroissant
from openai.types.chat.chat_completion_function_tool_param import ChatCompletionFunctionToolParam
from openai.types.chat.chat_completion_message_param import ChatCompletionMessageParam
from pydantic import TypeAdapter


def plain(value: Any) -> Any:
    """What Croissant's reader yields, without bytes, NumPy numbers and paths in the names of fields."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def seen_by_croissant(directory: Path) -> dict[str, Any]:
    described = mlcroissant.Dataset(directory / "croissant.json")
    return {
        "warnings": sorted(described.metadata.ctx.issues.warnings),
        "records": [plain(record) for record in described.records("rows")],
    }


def seen_by_datasets(directory: Path) -> dict[str, Any]:
    table = datasets.load_dataset(str(directory), split="test")
    return {"columns": table.column_names, "rows": list(table)}


def accepted_by_openai(line: str) -> Any:
    """The example as the types of the client take it; an unknown key would be lost, a wrong type refused."""
    example = json.loads(line)
    messages = TypeAdapter(list[ChatCompletionMessageParam]).validate_python(example["messages"])
    tools = TypeAdapter(list[ChatCompletionFunctionToolParam]).validate_python(example["tools"])
    return {**example, "messages": settled(messages), "tools": settled(tools)}


def settled(value: Any) -> Any:
    """The value with every lazy sequence validated to its end."""
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items()}
    return value if value is None or isinstance(value, str | int | float) else [settled(item) for item in value]


if __name__ == "__main__":
    hub, chat = map(Path, sys.argv[1:])
    lines = (chat / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    loaded = datasets.load_dataset("json", data_files=str(chat / "conversations.jsonl"), split="train")
    print(
        json.dumps(
            {
                "croissant": seen_by_croissant(hub),
                "datasets": seen_by_datasets(hub),
                "openai": [accepted_by_openai(line) for line in lines],
                "examples": list(loaded["messages"]),
            }
        )
    )
