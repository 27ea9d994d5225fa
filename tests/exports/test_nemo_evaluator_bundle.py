"""The six files of the evaluator bundle."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from bfcl.digest import sha256_hex, sha256_of
from bfcl.errors import StageError
from bfcl.exports.nemo_evaluator_bundle import FORMAT, BundleWriter, task_name
from bfcl.exports.tree_hash import tree_hash
from tests.exports.staged import SOURCE, decoded, edited, plain_row, row, tree

ROWS = [row(1), plain_row(2)]
HASH = SOURCE.content_hash


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return tree(FORMAT, ROWS)


def test_bundle_is_exactly_six_files(files: dict[str, bytes]) -> None:
    assert sorted(files) == [
        "bundle.json",
        "dataset.jsonl",
        "dataset.schema.json",
        "evaluator.yaml",
        "metadata.json",
        "system_prompts.json",
    ]


def test_tree_is_pinned(files: dict[str, bytes]) -> None:
    hashes = {name: sha256_of(data) for name, data in files.items()}
    assert tree_hash(hashes) == "sha256:6581c1392b4932af0857c1c6ae31c4047ea8b6d5527f2a36944ff6f5e4ac7e62"


def test_bundle_names_its_files_and_its_source(files: dict[str, bytes]) -> None:
    assert json.loads(files["bundle.json"]) == {
        "schema_version": "1.0",
        "task_name": "plant",
        "dataset_file": "dataset.jsonl",
        "dataset_schema_file": "dataset.schema.json",
        "metadata_file": "metadata.json",
        "evaluator_config_file": "evaluator.yaml",
        "system_prompt_file": "system_prompts.json",
        "record_count": 2,
        "dataset_content_hash": sha256_of(files["dataset.jsonl"]),
        "scoring": {
            "schema_version": "1.0",
            "metrics": ["tool_selection", "arguments", "call_ordering"],
            "argument_match": "canonical_json_exact",
            "call_order_policies": ["strict"],
        },
        "source": {
            "schema_version": "1.0",
            "benchmark_file": "benchmark.parquet",
            "benchmark_content_hash": HASH,
            "pack_id": "plant",
            "pack_version": "1.0",
            "expt_name": "demo",
        },
    }


def test_call_ordering_is_scored_only_where_a_task_has_several_calls() -> None:
    bundle = json.loads(tree(FORMAT, [plain_row(2)])["bundle.json"])
    assert bundle["scoring"]["metrics"] == ["tool_selection", "arguments"]


def test_records_conform_to_the_schema_that_their_definition_generates(files: dict[str, bytes]) -> None:
    schema = json.loads(files["dataset.schema.json"])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    records = [json.loads(line) for line in files["dataset.jsonl"].splitlines()]
    assert [error.message for record in records for error in validator.iter_errors(record)] == []
    assert [record["task_id"] for record in records] == [each["task_id"] for each in ROWS]
    assert not validator.is_valid({**records[0], "extra": 1})
    assert not validator.is_valid({key: value for key, value in records[0].items() if key != "replay_steps"})


def test_system_prompts_and_metadata_describe_the_records(files: dict[str, bytes]) -> None:
    assert json.loads(files["system_prompts.json"]) == {"sha256:0123456789abcdef": "You operate the valves."}
    assert json.loads(files["metadata.json"]) == {
        "schema_version": "1.0",
        "task_name": "plant",
        "records": 2,
        "projection": {
            "schema_version": "1.0",
            "source": {"file": "benchmark.parquet", "content_hash": HASH, "rows": 2},
            "pack_id": "plant",
            "pack_version": "1.0",
            "expt_name": "demo",
            "tier": "gold",
            "gold_eligible": True,
            "system_prompt_ids": ["sha256:0123456789abcdef"],
            "languages": ["en"],
            "turn_policies": ["confirmation"],
            "paraphrase_models": [],
            "tools_exposed": ["list_alarms", "read_valve", "set_valve"],
            "multi_turn_rows": 1,
            "parallel_call_rows": 1,
        },
        "counts": {"expected_tool_calls": 3, "tasks_without_expected_calls": 1, "tasks_with_assertions": 1},
        "categories": {"valves": 2},
        "difficulties": {"": 1, "easy": 1},
    }


def test_paraphrase_models_are_listed_once() -> None:
    worded = [edited(row(number), ["paraphrase_model"], "writer-1") for number in (1, 2)]
    metadata = json.loads(tree(FORMAT, worded)["metadata.json"])
    assert metadata["projection"]["paraphrase_models"] == ["writer-1"]


def test_evaluator_configuration_says_how_to_replay(files: dict[str, bytes]) -> None:
    text = files["evaluator.yaml"].decode()
    assert yaml.safe_load(text) == {
        "schema_version": "1.0",
        "kind": "nemotron_byob_function_calling_input",
        "execution": {
            "direct_launcher_config": False,
            "requires_registered_environment": True,
            "requires_tool_resource_service": True,
            "implemented_in_stage": "W5",
        },
        "task": {
            "name": "plant",
            "type": "function_calling",
            "dataset": "dataset.jsonl",
            "dataset_schema": "dataset.schema.json",
        },
        "prompt": {
            "source": "seed_messages",
            "system_prompts": "system_prompts.json",
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
            "schema_version": "1.0",
            "metrics": ["tool_selection", "arguments", "call_ordering"],
            "argument_match": "canonical_json_exact",
            "call_order_policies": ["strict"],
            "call_order_field": "call_order",
            "call_order_prefix_field": "call_order_prefix",
        },
        "reporting": {"group_by": ["category", "difficulty", "turn_policy"], "languages": ["en"]},
    }
    assert text.startswith("schema_version: '1.0'\nkind: nemotron_byob_function_calling_input\nexecution:\n")
    assert "&id" not in text


def test_prompt_id_with_two_texts_is_refused() -> None:
    writer = BundleWriter()
    list(writer.add(decoded(row(1))))
    other = edited(row(2), ["messages", 0, "content"], "You guard the valves.")
    with pytest.raises(StageError) as refused:
        list(writer.add(decoded(other)))
    assert str(refused.value) == (
        f"export_schema_mismatch: {other['task_id']}: system prompt sha256:0123456789abcdef has another text than in "
        "the rows before\n  fix: fix the pack or generate again; never patch an export"
    )


@pytest.mark.parametrize(
    ("pack_id", "name"),
    [
        ("plant", "plant"),
        ("plant-2.x_y", "plant-2.x_y"),
        ("Plant", "plant"),
        ("my plant!", "my_plant"),
        ("_plant_", "plant"),
        ("工場", "pack"),
    ],
)
def test_task_name_is_safe_and_marked_where_it_is_not_the_pack_id(pack_id: str, name: str) -> None:
    marked = name if name == pack_id else f"{name}-{sha256_hex(pack_id.encode())[:12]}"
    assert task_name(pack_id) == marked


def test_task_name_is_pinned() -> None:
    assert task_name("Plant") == "plant-0bd287f6ce17"


def test_records_differ_only_in_what_their_rows_differ(files: dict[str, bytes]) -> None:
    plain: Any = json.loads(files["dataset.jsonl"].splitlines()[1])
    assert (plain["difficulty"], plain["expected_tool_calls"], plain["success_assertions"]) == (None, [], [])
