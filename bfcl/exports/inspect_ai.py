"""The benchmark as an Inspect task: `inspect eval` runs the directory as it is. Rule: generation.md §7.

Three files: the samples, a task file that is the same for every benchmark, and what the benchmark is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

from bfcl.canonical import Json, canonical_text, readable_json
from bfcl.exports.format import Format, Piece, Truth, json_line, read_json_lines, reading
from bfcl.exports.inspect_ai_task import TASK
from bfcl.exports.row import ExportRow, Source

DATASET: Final = "dataset.jsonl"
TASK_FILE: Final = "task.py"
ABOUT: Final = "benchmark.json"

SCHEMA_VERSION: Final = "1.0"

_NO_CALL: Final = "no call"


class SampleWriter:
    """A sample a row, then the task file and what the benchmark is."""

    def add(self, row: ExportRow) -> Iterable[Piece]:
        """The sample."""
        return (json_line(DATASET, sample(row)),)

    def finish(self, source: Source) -> Iterable[Piece]:
        """The files that hold no rows."""
        return (Piece(TASK_FILE, TASK.encode()), Piece(ABOUT, readable_json(_about(source))))


def sample(row: ExportRow) -> dict[str, Json]:
    """A row as a sample: what the model sees at first, and the rest of the conversation as its script."""
    first = 1 + next(index for index, message in enumerate(row.messages) if message["role"] == "user")
    published = row.published
    return {
        "id": row.task_id,
        "input": row.messages[:first],
        "target": "\n".join(f"{call.function_name}({canonical_text(call.arguments)})" for call in row.calls)
        or _NO_CALL,
        "metadata": {
            "script": row.messages[first:],
            "tools": row.tools,
            "expected_tool_calls": [call.to_json() for call in row.calls],
            "success_assertions": published["success_assertions"],
            "call_order": published["call_order"],
            "call_order_prefix": published["call_order_prefix"],
            "required_tools": published["required_tools"],
            "template_id": published["template_id"],
            "turn_policy": published["turn_policy"],
            "category": published["category"],
            "difficulty": published["difficulty"],
            "language": row.metadata["language"],
        },
    }


def _about(source: Source) -> dict[str, Json]:
    return {
        "schema_version": SCHEMA_VERSION,
        "name": source.pack_id,
        "benchmark_file": source.file,
        "benchmark_content_hash": source.content_hash,
        "rows": source.rows,
        "pack_id": source.pack_id,
        "pack_version": source.pack_version,
        "expt_name": source.expt_name,
        "tier": source.tier,
        "gold_eligible": source.gold_eligible,
    }


def read_back(directory: Path) -> Iterator[Truth]:
    """The rows as the samples tell them. Raises: Unreadable."""
    for number, line in enumerate(read_json_lines(directory / DATASET), 1):
        with reading(f"{DATASET}:{number}"):
            hidden = cast("Mapping[str, Json]", line["metadata"])
            truth = Truth(
                task_id=cast("str", line["id"]),
                messages=[*cast("list[Json]", line["input"]), *cast("list[Json]", hidden["script"])],
                tools=hidden["tools"],
                expected_tool_calls=hidden["expected_tool_calls"],
                success_assertions=hidden["success_assertions"],
                call_order=hidden["call_order"],
                call_order_prefix=hidden["call_order_prefix"],
            )
        yield truth


FORMAT: Final = Format(name="inspect_ai", schema_version=SCHEMA_VERSION, writer=SampleWriter, read_back=read_back)
