"""Shape faults of a configuration: code, line, what was seen, what was expected, fix."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bfcl.config import model
from bfcl.config.shape import SCHEMA_PATH, expected, schema
from bfcl.records.ids import TURN_POLICIES
from tests.config.builder import REMOVED, complaints, edited

REFUSED = [
    pytest.param(
        {"family": REMOVED},
        ('configs/run.yaml:1: missing_family_pin: family is missing; expected "bfcl"\n  fix: add `family: bfcl`'),
        id="family-absent",
    ),
    pytest.param(
        {"family": None},
        ('configs/run.yaml:1: missing_family_pin: family is null; expected "bfcl"\n  fix: set `family: bfcl`'),
        id="family-null",
    ),
    pytest.param(
        {"family": "bfc"},
        (
            'configs/run.yaml:1: generation_config_invalid: family is "bfc"; expected "bfcl"\n'
            "  fix: did you mean `bfcl`?"
        ),
        id="family-misspelt",
    ),
    pytest.param(
        {"family": 1},
        ('configs/run.yaml:1: generation_config_invalid: family is 1; expected "bfcl"'),
        id="family-number",
    ),
    pytest.param(
        {"stage": "deploy"},
        (
            'configs/run.yaml:10: byob_stage_unsupported: stage is "deploy"; expected `prepare`, '
            "`generate`, `translate`, `eval` or `all`"
        ),
        id="stage-unknown",
    ),
    pytest.param(
        {"stage": 3},
        (
            "configs/run.yaml:10: generation_config_invalid: stage is 3; expected `prepare`, `generate`, "
            "`translate`, `eval` or `all`"
        ),
        id="stage-number",
    ),
    pytest.param(
        {"expt_nme": "x"},
        (
            "configs/run.yaml:10: generation_config_invalid: expt_nme is not a key of the configuration\n"
            "  fix: did you mean `expt_name`?"
        ),
        id="unknown-top-level-key",
    ),
    pytest.param(
        {"oracle_runtime.wroker": "process"},
        (
            "configs/run.yaml:8: generation_config_invalid: oracle_runtime.wroker is not a key of "
            "`oracle_runtime`\n"
            "  fix: did you mean `worker`?"
        ),
        id="unknown-nested-key",
    ),
    pytest.param(
        {"lineage.a b": 1},
        (
            'configs/run.yaml:10: generation_config_invalid: lineage["a b"] is not a key of `lineage`\n'
            "  fix: remove it; known here: `policy`, `profile_influenced_surface`, `judge_advisory`, `roles`"
        ),
        id="unknown-key-with-a-blank",
    ),
    pytest.param(
        {"lineage.roles": {"profile": {"enable": False}}},
        (
            "configs/run.yaml:12: generation_config_invalid: lineage.roles.profile.enable is not a key of "
            "`lineage.roles.profile`\n"
            "  fix: did you mean `enabled`?"
        ),
        id="unknown-key-of-a-role",
    ),
    pytest.param(
        {"oracle_runtime": REMOVED},
        (
            "configs/run.yaml:1: generation_config_invalid: oracle_runtime is missing; expected a mapping\n"
            "  fix: add `oracle_runtime`"
        ),
        id="block-missing",
    ),
    pytest.param(
        {"lineage": REMOVED, "output_dir": REMOVED},
        (
            "configs/run.yaml:1: generation_config_invalid: output_dir is missing; expected a path as "
            "non-empty text\n"
            "  fix: add `output_dir`\n"
            "configs/run.yaml:1: generation_config_invalid: lineage is missing; expected a mapping\n"
            "  fix: add `lineage`"
        ),
        id="two-keys-missing",
    ),
    pytest.param(
        {"oracle_runtime.clock": REMOVED},
        (
            "configs/run.yaml:6: generation_config_invalid: oracle_runtime.clock is missing; expected a "
            "quoted ISO-8601 time with a UTC offset\n"
            "  fix: add `clock`"
        ),
        id="nested-key-missing",
    ),
    pytest.param(
        {"exports": None},
        (
            "configs/run.yaml:10: generation_config_invalid: exports is null; expected a mapping\n"
            "  fix: remove the key, or write `{}`"
        ),
        id="block-null",
    ),
    pytest.param(
        {"lineage": [1]},
        ("configs/run.yaml:8: generation_config_invalid: lineage is <list, 1>; expected a mapping"),
        id="block-list",
    ),
    pytest.param(
        {"random_seed": True},
        (
            "configs/run.yaml:10: generation_config_invalid: random_seed is true; expected an integer or "
            "null\n"
            "  fix: write a number"
        ),
        id="boolean-for-integer",
    ),
    pytest.param(
        {"oracle_runtime.tool_timeout_s": False},
        (
            "configs/run.yaml:8: generation_config_invalid: oracle_runtime.tool_timeout_s is false; "
            "expected a number above 0 and at most 1000000\n"
            "  fix: write a number"
        ),
        id="boolean-for-number",
    ),
    pytest.param(
        {"random_seed": 1.0},
        (
            "configs/run.yaml:10: generation_config_invalid: random_seed is 1.0; expected an integer or "
            "null\n"
            "  fix: write `1`"
        ),
        id="whole-float-for-integer",
    ),
    pytest.param(
        {"random_seed": 1.5},
        ("configs/run.yaml:10: generation_config_invalid: random_seed is 1.5; expected an integer or null"),
        id="float-for-integer",
    ),
    pytest.param(
        {"ndd_batch_size": "32"},
        (
            'configs/run.yaml:10: generation_config_invalid: ndd_batch_size is "32"; expected an integer of '
            "at least 1\n"
            "  fix: write a number, without quotes"
        ),
        id="quoted-integer",
    ),
    pytest.param(
        {"ndd_batch_size": 0},
        ("configs/run.yaml:10: generation_config_invalid: ndd_batch_size is 0; expected an integer of at least 1"),
        id="integer-below-range",
    ),
    pytest.param(
        {"surface_generation.preserve_slot_values": 1},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_generation.preserve_slot_values is 1; "
            "expected true or false"
        ),
        id="number-for-boolean",
    ),
    pytest.param(
        {"surface_generation.preserve_slot_values": "yes"},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_generation.preserve_slot_values is "
            '"yes"; expected true or false\n'
            "  fix: write true or false, without quotes"
        ),
        id="word-for-boolean",
    ),
    pytest.param(
        {"oracle_runtime.reset_timeout_s": 0},
        (
            "configs/run.yaml:8: generation_config_invalid: oracle_runtime.reset_timeout_s is 0; expected a "
            "number above 0 and at most 1000000"
        ),
        id="timeout-zero",
    ),
    pytest.param(
        {"oracle_runtime.episode_timeout_s": 10**400},
        (
            "configs/run.yaml:8: generation_config_invalid: oracle_runtime.episode_timeout_s is "
            "100000000000000000000000000000000000000000000000000000000...; expected a number above 0 and at "
            "most 1000000"
        ),
        id="timeout-beyond-range",
    ),
    pytest.param(
        {"oracle_runtime.worker": "proces"},
        (
            'configs/run.yaml:8: generation_config_invalid: oracle_runtime.worker is "proces"; expected '
            "`process` or `thread`\n"
            "  fix: did you mean `process`?"
        ),
        id="worker-misspelt",
    ),
    pytest.param(
        {"schema_version": 1.1},
        (
            'configs/run.yaml:10: generation_config_invalid: schema_version is 1.1; expected "1.1" (quoted) '
            "or null\n"
            '  fix: quote it: `"1.1"`'
        ),
        id="version-unquoted",
    ),
    pytest.param(
        {"schema_version": "1.0"},
        (
            'configs/run.yaml:10: generation_config_invalid: schema_version is "1.0"; expected "1.1" '
            "(quoted) or null\n"
            "  fix: did you mean `1.1`?"
        ),
        id="version-unknown",
    ),
    pytest.param(
        {"config_status": "done"},
        (
            'configs/run.yaml:10: generation_config_invalid: config_status is "done"; expected `template`, '
            "`resolved` or null"
        ),
        id="status-unknown",
    ),
    pytest.param(
        {"surface_quality_validation.contract_version": "1.0"},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_quality_validation.contract_version is "
            '"1.0"; expected "1.1"\n'
            "  fix: did you mean `1.1`?"
        ),
        id="contract-version-unknown",
    ),
    pytest.param(
        {"semantic_deduplication_config.contract_version": 1.0},
        (
            "configs/run.yaml:11: generation_config_invalid: semantic_deduplication_config.contract_version "
            'is 1.0; expected "1.0"\n'
            '  fix: quote it: `"1.0"`'
        ),
        id="contract-version-unquoted",
    ),
    pytest.param(
        {"oracle_runtime.allowed_roots": ["", 3]},
        (
            'configs/run.yaml:9: generation_config_invalid: oracle_runtime.allowed_roots[0] is ""; expected '
            "a path as non-empty text\n"
            "configs/run.yaml:10: generation_config_invalid: oracle_runtime.allowed_roots[1] is 3; expected "
            "a path as non-empty text"
        ),
        id="roots-with-blank-and-number",
    ),
    pytest.param(
        {"oracle_runtime.allowed_roots": "x"},
        (
            'configs/run.yaml:8: generation_config_invalid: oracle_runtime.allowed_roots is "x"; expected a '
            "list of paths, or null"
        ),
        id="roots-text",
    ),
    pytest.param(
        {"output_dir": "a\x00b"},
        ('configs/run.yaml:3: generation_config_invalid: output_dir is "a\\u0000b"; expected a path as non-empty text'),
        id="path-with-nul",
    ),
    pytest.param(
        {"oracle_pack.manifest_path": " "},
        (
            'configs/run.yaml:5: generation_config_invalid: oracle_pack.manifest_path is " "; expected a '
            "path as non-empty text"
        ),
        id="path-blank",
    ),
    pytest.param(
        {"surface_generation.surface_style_axes": ["a", "a"]},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_generation.surface_style_axes is "
            "<list, 2>; expected a non-empty list of different texts"
        ),
        id="axes-repeated",
    ),
    pytest.param(
        {"surface_generation.surface_style_axes": ["a "]},
        (
            'configs/run.yaml:12: generation_config_invalid: surface_generation.surface_style_axes[0] is "a '
            '"; expected non-empty text without blanks around it'
        ),
        id="axis-padded",
    ),
    pytest.param(
        {"surface_generation.surface_style_axes": ["a\n"]},
        (
            "configs/run.yaml:12: generation_config_invalid: surface_generation.surface_style_axes[0] is "
            '"a\\n"; expected non-empty text without blanks around it'
        ),
        id="axis-ending-in-newline",
    ),
    pytest.param(
        {"surface_generation.surface_style_axes": []},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_generation.surface_style_axes is "
            "<list, 0>; expected a non-empty list of different texts"
        ),
        id="axes-empty",
    ),
    pytest.param(
        {"surface_generation.language": " "},
        ('configs/run.yaml:11: generation_config_invalid: surface_generation.language is " "; expected non-empty text'),
        id="language-blank",
    ),
    pytest.param(
        {"task_generation.difficulty_mix": {"easy": 2}},
        (
            "configs/run.yaml:12: generation_config_invalid: task_generation.difficulty_mix.easy is 2; "
            "expected a number of at least 0 and at most 1"
        ),
        id="share-above-one",
    ),
    pytest.param(
        {"task_generation.turn_mix": {}},
        (
            "configs/run.yaml:11: generation_config_invalid: task_generation.turn_mix is <mapping, 0>; "
            "expected a non-empty mapping of shares"
        ),
        id="mix-empty",
    ),
    pytest.param(
        {"task_generation.policy_mix": {"confirm": 1}},
        (
            "configs/run.yaml:12: generation_config_invalid: task_generation.policy_mix.confirm is not a "
            "key of `task_generation.policy_mix`\n"
            "  fix: did you mean `confirmation`?"
        ),
        id="mix-key-unknown",
    ),
    pytest.param(
        {"semantic_deduplication_config.eps": 1},
        (
            "configs/run.yaml:11: generation_config_invalid: semantic_deduplication_config.eps is 1; "
            "expected a number above 0 and below 1"
        ),
        id="eps-at-its-open-end",
    ),
    pytest.param(
        {"semantic_deduplication_config.representative_source_preference": ["template", "template"]},
        (
            "configs/run.yaml:11: generation_config_invalid: "
            "semantic_deduplication_config.representative_source_preference is <list, 2>; expected a "
            "non-empty list of different words out of `template`, `model`"
        ),
        id="preference-repeated",
    ),
    pytest.param(
        {"semantic_deduplication_config.representative_source_preference": ["judge"]},
        (
            "configs/run.yaml:12: generation_config_invalid: "
            'semantic_deduplication_config.representative_source_preference[0] is "judge"; expected '
            "`template` or `model`"
        ),
        id="preference-unknown",
    ),
    pytest.param(
        {"semantic_deduplication_config.min_exact_surface_ratio": 0},
        (
            "configs/run.yaml:11: generation_config_invalid: "
            "semantic_deduplication_config.min_exact_surface_ratio is 0; expected a number above 0 and at "
            "most 1"
        ),
        id="ratio-at-its-open-end",
    ),
    pytest.param(
        {"semantic_deduplication_config.model_identifier": " x"},
        (
            "configs/run.yaml:11: generation_config_invalid: semantic_deduplication_config.model_identifier "
            'is " x"; expected non-empty text without blanks around it'
        ),
        id="identifier-padded",
    ),
    pytest.param(
        {"reference_benchmark": {"name": "x", "hash": "y"}},
        (
            "configs/run.yaml:10: reference_benchmark_invalid: reference_benchmark.samples_path is missing; "
            "expected a path as non-empty text\n"
            "  fix: add `samples_path`\n"
            "configs/run.yaml:10: reference_benchmark_invalid: reference_benchmark.content_hash is missing; "
            "expected `sha256:` and 64 lower-case hex digits\n"
            "  fix: add `content_hash`\n"
            "configs/run.yaml:12: reference_benchmark_invalid: reference_benchmark.hash is not a key of "
            "`reference_benchmark`\n"
            "  fix: remove it; known here: `name`, `samples_path`, `content_hash`"
        ),
        id="reference-keys",
    ),
    pytest.param(
        {"reference_benchmark": []},
        (
            "configs/run.yaml:10: reference_benchmark_invalid: reference_benchmark is <list, 0>; expected a "
            "mapping or null"
        ),
        id="reference-list",
    ),
    pytest.param(
        {"lineage.roles.profile": "sk-123"},
        ("configs/run.yaml:11: generation_config_invalid: lineage.roles.profile is <str, 6>; expected a mapping"),
        id="role-text-shown-by-shape",
    ),
    pytest.param(
        {"lineage.roles.profile.model_config": "sk-123"},
        (
            "configs/run.yaml:12: generation_config_invalid: lineage.roles.profile.model_config is <str, "
            "6>; expected a mapping or null"
        ),
        id="model-config-text-shown-by-shape",
    ),
]


@pytest.mark.parametrize("command", ["prepare", "generate", "all", "translate", "eval"])
def test_shape_refuses_unknown_key_for_every_command(tmp_path: Path, command: model.Stage) -> None:
    assert complaints(tmp_path, edited({"random_sed": 1}), command) == [
        (
            "configs/run.yaml:10: generation_config_invalid: random_sed is not a key of the configuration\n"
            "  fix: did you mean `random_seed`?"
        )
    ]


@pytest.mark.parametrize(("edits", "message"), REFUSED)
def test_shape_refuses_with_place_and_expectation(tmp_path: Path, edits: Mapping[str, Any], message: str) -> None:
    assert "\n".join(complaints(tmp_path, edited(edits), "prepare")) == message


@pytest.mark.parametrize(
    "edits",
    [
        {"oracle_runtime.tool_timeout_s": 5},
        {"oracle_runtime.allowed_roots": None},
        {"oracle_runtime.allowed_roots": []},
        {"random_seed": None, "schema_version": None, "config_status": None, "reference_benchmark": None},
        {"random_seed": -3, "schema_version": "1.1", "config_status": "template"},
        {"oracle_runtime.worker": "thread"},
        {"oracle_pack.fixtures_path": None, "oracle_pack.backend_path": "../packs/sample/other.py"},
        {"lineage.roles": {}, "exports": {}, "task_generation": {}, "surface_generation": {}},
        {"lineage.roles.profile.model_config": None, "lineage.judge_advisory": None},
        {"surface_generation.surface_style_axes": ["short", "long and\nwound"]},
        {"semantic_deduplication_config": {"enabled": False, "eps": 0.5, "n_clusters": 3}},
        {"expt_name": "é" * 127 + "x"},
        {"eval": None, "input_dir": None, "translation": None},
    ],
)
def test_shape_accepts_what_the_schema_allows(tmp_path: Path, edits: Mapping[str, Any]) -> None:
    assert complaints(tmp_path, edited(edits)) == []


def test_schema_is_a_valid_json_schema() -> None:
    Draft202012Validator.check_schema(schema())


def test_schema_is_kept_as_readable_json() -> None:
    text = SCHEMA_PATH.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def _leaves(part: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(dotted key, schema) of every setting, references followed."""
    for key, child in part.get("properties", {}).items():
        inner = child
        if "$ref" in child:
            inner = {**schema()["$defs"][child["$ref"].rpartition("/")[2]], **child}
        dotted = f"{name}.{key}" if name else key
        yield dotted, inner
        yield from _leaves(inner, dotted)


def test_schema_closes_every_block_and_describes_every_key() -> None:
    for name, part in _leaves(schema()):
        if "properties" in part:
            assert part["additionalProperties"] is False, name
        if "_mix." not in name:
            assert part["description"].endswith("."), name


def test_schema_expectations_are_words_for_every_key_with_a_constraint() -> None:
    constrained = {name: expected(part) for name, part in _leaves(schema()) if {"type", "enum", "const"} & set(part)}
    assert len(constrained) > 90
    assert all(constrained.values())


def test_schema_defaults_equal_the_typed_defaults() -> None:
    defaults = {name: part["default"] for name, part in _leaves(schema()) if "default" in part}
    typed = dict(_typed_defaults(model.RunConfig))
    shared = defaults.keys() & typed.keys()
    assert len(shared) > 30
    for name in shared:
        wanted = list(typed[name]) if isinstance(typed[name], tuple) else typed[name]
        assert defaults[name] == wanted, name
        assert type(defaults[name]) is type(wanted), name


def _typed_defaults(kind: Any, name: str = "") -> Iterator[tuple[str, object]]:
    nested = {
        "oracle_pack": model.OraclePackPaths,
        "oracle_runtime": model.OracleRuntime,
        "lineage": model.Lineage,
        "surface_generation": model.SurfaceGeneration,
        "surface_quality_validation": model.SurfaceQuality,
        "task_generation": model.TaskGeneration,
        "semantic_deduplication_config": model.SemanticDeduplication,
        "exports": model.Exports,
    }
    # Filled in by `typed`, which has its own tests.
    derived = {"oracle_runtime.allowed_roots", "task_generation.candidate_tasks_per_category"}
    assert is_dataclass(kind)
    for field in fields(kind):
        dotted = f"{name}.{field.name}" if name else field.name
        if field.name in nested and not name:
            yield from _typed_defaults(nested[field.name], dotted)
        elif dotted not in derived and isinstance(field.default, str | int | float | bool | tuple | None):
            yield dotted, field.default


def test_schema_knows_the_turn_policies() -> None:
    mix = schema()["properties"]["task_generation"]["properties"]["policy_mix"]
    assert tuple(mix["properties"]) == TURN_POLICIES
