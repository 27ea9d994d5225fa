"""The benchmark as the six files that an evaluator's adapter takes. Rule: generation.md §7."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import yaml

from bfcl.canonical import Json, readable_json
from bfcl.digest import Digest, Sha256Stream, sha256_hex
from bfcl.errors import StageError
from bfcl.exports.bundle_record import SCHEMA_VERSION, DatasetRecord, dataset_record, read_truth
from bfcl.exports.decode import row_problem
from bfcl.exports.decode_row import SCHEMA_MISMATCH
from bfcl.exports.format import Format, Piece, Truth, json_line, read_json_lines, reading
from bfcl.exports.record_schema import record_schema
from bfcl.exports.row import ExportRow, Source

BUNDLE: Final = "bundle.json"
DATASET: Final = "dataset.jsonl"
DATASET_SCHEMA: Final = "dataset.schema.json"
SYSTEM_PROMPTS: Final = "system_prompts.json"
METADATA: Final = "metadata.json"
EVALUATOR: Final = "evaluator.yaml"

ARGUMENT_MATCH: Final = "canonical_json_exact"

_KIND: Final = "nemotron_byob_function_calling_input"
_GROUP_BY: Final = ("category", "difficulty", "turn_policy")


def task_name(pack_id: str) -> str:
    """The evaluator's name for a pack: its id in `[a-z0-9_.-]`, with 12 hex of the id's hash where that changed it."""
    name = re.sub(r"[^a-z0-9_.-]", "_", pack_id.lower()).strip("_.-")
    if name == pack_id:
        return name
    return f"{name or 'pack'}-{sha256_hex(pack_id.encode())[:12]}"


class BundleWriter:
    """Streams the dataset and keeps what the other five files say of it: counts, distinct values, prompts."""

    def __init__(self) -> None:
        self._dataset = Sha256Stream()
        self._prompts: dict[str, str] = {}
        self._count: Counter[str] = Counter()
        self._values: dict[str, Counter[str]] = {name: Counter() for name in _COUNTED}

    def add(self, row: ExportRow) -> Iterable[Piece]:
        """The record of a row. Raises: StageError `export_schema_mismatch` for a prompt id that has another text."""
        prompt_id, text = row.published["system_prompt_id"], str(row.messages[0]["content"])
        if self._prompts.setdefault(prompt_id, text) != text:
            message = f"system prompt {prompt_id} has another text than in the rows before"
            raise StageError(row_problem(SCHEMA_MISMATCH, row.task_id, message))
        self._tally(row)
        piece = json_line(DATASET, dataset_record(row))
        self._dataset.update(piece.data)
        return (piece,)

    def finish(self, source: Source) -> Iterable[Piece]:
        """The five files beside the dataset."""
        documents: dict[str, Json] = {
            BUNDLE: self._bundle(source, self._dataset.digest()),
            DATASET_SCHEMA: record_schema(DatasetRecord, "A task of the evaluator bundle"),
            SYSTEM_PROMPTS: self._prompts,
            METADATA: self._metadata(source),
        }
        for name, document in documents.items():
            yield Piece(name, readable_json(document))
        text = yaml.dump(self._evaluator(source), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=1 << 16)
        yield Piece(EVALUATOR, text.encode())

    def _tally(self, row: ExportRow) -> None:
        published = row.published
        self._count["expected_tool_calls"] += len(row.calls)
        self._count["tasks_without_expected_calls"] += not row.calls
        self._count["tasks_with_assertions"] += bool(published["success_assertions"])
        self._count["multi_turn_rows"] += published["is_multi_turn"]
        self._count["parallel_call_rows"] += any(len(group.calls) > 1 for group in row.groups)
        self._count["tasks_with_an_order"] += len(row.calls) > 1
        told = {
            "categories": published["category"],
            "difficulties": published["difficulty"] or "",
            "turn_policies": published["turn_policy"],
            "call_order_policies": published["call_order"],
            "system_prompt_ids": published["system_prompt_id"],
            "languages": str(row.metadata["language"]),
        }
        for name, value in told.items():
            self._values[name][value] += 1
        self._values["tools_exposed"].update(published["tools_present"])
        if published["paraphrase_model"] is not None:
            self._values["paraphrase_models"][published["paraphrase_model"]] += 1

    def _distinct(self, name: str) -> list[Json]:
        return [*sorted(self._values[name])]

    def _scoring(self) -> dict[str, Json]:
        metrics = ["tool_selection", "arguments"]
        if self._count["tasks_with_an_order"]:
            metrics.append("call_ordering")
        return {
            "schema_version": SCHEMA_VERSION,
            "metrics": metrics,
            "argument_match": ARGUMENT_MATCH,
            "call_order_policies": self._distinct("call_order_policies"),
        }

    def _bundle(self, source: Source, dataset: Digest) -> dict[str, Json]:
        return {
            "schema_version": SCHEMA_VERSION,
            "task_name": task_name(source.pack_id),
            "dataset_file": DATASET,
            "dataset_schema_file": DATASET_SCHEMA,
            "metadata_file": METADATA,
            "evaluator_config_file": EVALUATOR,
            "system_prompt_file": SYSTEM_PROMPTS,
            "record_count": source.rows,
            "dataset_content_hash": dataset,
            "scoring": self._scoring(),
            "source": {
                "schema_version": SCHEMA_VERSION,
                "benchmark_file": source.file,
                "benchmark_content_hash": source.content_hash,
                "pack_id": source.pack_id,
                "pack_version": source.pack_version,
                "expt_name": source.expt_name,
            },
        }

    def _metadata(self, source: Source) -> dict[str, Json]:
        counted = ("expected_tool_calls", "tasks_without_expected_calls", "tasks_with_assertions")
        listed = ("system_prompt_ids", "languages", "turn_policies", "paraphrase_models", "tools_exposed")
        return {
            "schema_version": SCHEMA_VERSION,
            "task_name": task_name(source.pack_id),
            "records": source.rows,
            "projection": {
                "schema_version": SCHEMA_VERSION,
                "source": {"file": source.file, "content_hash": source.content_hash, "rows": source.rows},
                "pack_id": source.pack_id,
                "pack_version": source.pack_version,
                "expt_name": source.expt_name,
                "tier": source.tier,
                "gold_eligible": source.gold_eligible,
                **{name: self._distinct(name) for name in listed},
                "multi_turn_rows": self._count["multi_turn_rows"],
                "parallel_call_rows": self._count["parallel_call_rows"],
            },
            "counts": {name: self._count[name] for name in counted},
            "categories": dict(self._values["categories"]),
            "difficulties": dict(self._values["difficulties"]),
        }

    def _evaluator(self, source: Source) -> dict[str, Json]:
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": _KIND,
            "execution": {
                "direct_launcher_config": False,
                "requires_registered_environment": True,
                "requires_tool_resource_service": True,
                "implemented_in_stage": "W5",
            },
            "task": {
                "name": task_name(source.pack_id),
                "type": "function_calling",
                "dataset": DATASET,
                "dataset_schema": DATASET_SCHEMA,
            },
            "prompt": {
                "source": "seed_messages",
                "system_prompts": SYSTEM_PROMPTS,
                "reference_trace": "reference_trace",
                "reference_trace_is_model_input": False,
            },
            "interaction": {
                "type": "incremental_tool_replay",
                "steps_field": "replay_steps",
                "release_next_user_after_current_step": True,
                "release_tool_results_after_expected_call_match": True,
            },
            "scoring": {
                **self._scoring(),
                "call_order_field": "call_order",
                "call_order_prefix_field": "call_order_prefix",
            },
            "reporting": {"group_by": list(_GROUP_BY), "languages": self._distinct("languages")},
        }


_COUNTED: Final = (
    "categories",
    "difficulties",
    "turn_policies",
    "call_order_policies",
    "system_prompt_ids",
    "languages",
    "tools_exposed",
    "paraphrase_models",
)


class _Plain(yaml.SafeDumper):
    """Writes every value where it stands: anchors would tie lists that happen to be one object."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 the library calls it so
        return True


def read_back(directory: Path) -> Iterator[Truth]:
    """The rows as the dataset's bytes tell them. Raises: Unreadable."""
    for number, record in enumerate(read_json_lines(directory / DATASET), 1):
        with reading(f"{DATASET}:{number}"):
            truth = read_truth(record)
        yield truth


FORMAT: Final = Format(
    name="nemo_evaluator_bundle", schema_version=SCHEMA_VERSION, writer=BundleWriter, read_back=read_back
)
