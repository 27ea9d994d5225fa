"""Configuration hashes: pinned, equal wherever the project lies, different wherever the meaning is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.config.identity import (
    generation_config_hash,
    portable_path,
    resolved,
    resolved_config_hash,
)
from bfcl.config.portable import portable, portable_without_stage
from tests.config.builder import GOOD, edited, load

ELSEWHERE = Path("/nowhere/project")


def _portable(raw: Any) -> Mapping[str, Any]:
    return portable_without_stage(raw, config_path=ELSEWHERE / "configs" / "run.yaml", project=ELSEWHERE)


def test_hashes_are_pinned(tmp_path: Path) -> None:
    loaded = load(tmp_path, GOOD)
    assert [generation_config_hash(loaded, "all"), resolved_config_hash(loaded, "all")] == [
        "sha256:f18141570f4fb35e9a554260fe976f30a5fc684059b847880c5d2ba840f7f6b6",
        "sha256:4579eb728cc39d91bf92b886679d2edbbb5b8c1f544d6f9ccb80a18e2c729d03",
    ]


def test_hashes_do_not_change_when_the_project_moves(tmp_path: Path) -> None:
    raw = edited({"oracle_pack.fixtures_path": "../shared/fixtures.json", "oracle_runtime.allowed_roots": [".."]})
    here, there = load(tmp_path / "a", raw), load(tmp_path / "deep" / "b", raw)
    assert here.config != there.config
    assert generation_config_hash(here, "all") == generation_config_hash(there, "all")
    assert resolved_config_hash(here, "all") == resolved_config_hash(there, "all")


def test_hashes_do_not_change_with_how_a_path_is_written(tmp_path: Path) -> None:
    absolute = {
        "output_dir": str(tmp_path / "build" / "runs"),
        "oracle_pack.manifest_path": "../packs/x/../sample/manifest.yaml",
    }
    here, there = load(tmp_path, GOOD), load(tmp_path, edited(absolute))
    assert generation_config_hash(here, "all") == generation_config_hash(there, "all")


def test_hashes_differ_between_commands_and_not_by_the_stage_written(tmp_path: Path) -> None:
    loaded, written = load(tmp_path, GOOD), load(tmp_path, edited({"stage": "prepare"}))
    for digest in (generation_config_hash, resolved_config_hash):
        assert digest(loaded, "all") != digest(loaded, "generate")
        assert digest(loaded, "all") == digest(written, "all")


def test_hashes_ignore_evaluation_settings(tmp_path: Path) -> None:
    plain, evaluated = load(tmp_path, GOOD, "prepare"), load(tmp_path, edited({"eval": {"a": 1}}), "prepare")
    assert generation_config_hash(plain, "all") == generation_config_hash(evaluated, "all")
    assert resolved_config_hash(plain, "all") == resolved_config_hash(evaluated, "all")


def test_only_the_hash_as_read_tells_a_default_written_out(tmp_path: Path) -> None:
    plain, spelled = load(tmp_path, GOOD), load(tmp_path, edited({"oracle_runtime.tool_timeout_s": 5, "exports": {}}))
    assert generation_config_hash(plain, "all") != generation_config_hash(spelled, "all")
    assert resolved_config_hash(plain, "all") == resolved_config_hash(spelled, "all")


def test_resolved_names_every_key_and_no_absolute_path(tmp_path: Path) -> None:
    settings = resolved(load(tmp_path, GOOD), "generate")
    assert settings["stage"] == "generate"
    assert settings["output_dir"] == "<output>"
    assert settings["oracle_runtime"] == {
        "clock": "2026-03-02T09:00:00+00:00",
        "tool_timeout_s": 5.0,
        "assertion_timeout_s": 5.0,
        "import_timeout_s": 10.0,
        "reset_timeout_s": 5.0,
        "episode_timeout_s": 60.0,
        "worker": "process",
        "allowed_roots": ["<project>/packs"],
    }
    assert str(tmp_path) not in canonical_json(settings).decode()


def test_portable_names_paths_from_the_first_anchor_that_holds_them() -> None:
    raw = {
        "output_dir": "../build/runs",
        "oracle_pack": {
            "manifest_path": "../packs/sample/manifest.yaml",
            "backend_path": "../packs/sample",
            "fixtures_path": "../build/runs/old/fixtures.json",
            "assertions_path": "../shared/assertions.py",
            "task_templates_path": "/srv/b/templates.yaml",
            "validation_cases_path": "/etc/cases.yaml",
        },
        "oracle_runtime": {"allowed_roots": ["..", "/srv/a", "../packs", "/srv/b", "/srv/a/c"]},
        "reference_benchmark": {"samples_path": "/srv/a/samples.jsonl"},
    }
    assert _portable(raw) == {
        "output_dir": "<output>",
        "oracle_pack": {
            "manifest_path": "<pack>/manifest.yaml",
            "backend_path": "<pack>",
            "fixtures_path": "<output>/old/fixtures.json",
            "assertions_path": "<project>/shared/assertions.py",
            "task_templates_path": "<allowed_root_1>/templates.yaml",
            "validation_cases_path": "/etc/cases.yaml",
        },
        "oracle_runtime": {
            "allowed_roots": [
                "<project>",
                "<allowed_root_0>",
                "<project>/packs",
                "<allowed_root_1>",
                "<allowed_root_0>/c",
            ]
        },
        "reference_benchmark": {"samples_path": "<allowed_root_0>/samples.jsonl"},
    }


def test_portable_sets_the_effective_stage_and_leaves_its_input_alone() -> None:
    raw = edited({"stage": "all", "eval": {}, "eval_config_path": "e.yaml", "translation_config_path": "t.yaml"})
    before = canonical_json(raw)
    found = portable(raw, config_path=ELSEWHERE / "configs" / "run.yaml", project=ELSEWHERE, stage="generate")
    assert found["stage"] == "generate"
    assert found.keys() == GOOD.keys() | {"stage", "translation_config_path"}
    assert canonical_json(raw) == before
    assert "stage" not in _portable(raw)


def test_portable_never_holds_a_credential() -> None:
    raw = edited({"lineage.roles.profile.model_config": {"inference_parameters": [{"API-Key": "sk-hidden"}]}})
    parameters = _portable(raw)["lineage"]["roles"]["profile"]["model_config"]["inference_parameters"]
    assert parameters == [{"API-Key": "<str, 9>"}]


def test_portable_path_names_a_file_as_the_manifest_does(tmp_path: Path) -> None:
    loaded = load(tmp_path, GOOD)
    assert portable_path(loaded, tmp_path / "packs" / "sample" / "tools.json") == "<pack>/tools.json"
    assert portable_path(loaded, tmp_path / "packs" / "sample2") == "<project>/packs/sample2"


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"output_dir": 3, "oracle_pack": [], "oracle_runtime": None, "reference_benchmark": "x"},
        {"output_dir": "\0", "oracle_pack": {"manifest_path": {}}, "oracle_runtime": {"allowed_roots": [1, "", []]}},
    ],
)
def test_portable_leaves_what_is_misshapen(raw: dict[str, Any]) -> None:
    assert _portable(raw) == raw


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "output_dir": JSON,
            "oracle_pack": JSON | st.dictionaries(st.sampled_from(["manifest_path", "backend_path"]), JSON),
            "oracle_runtime": st.dictionaries(st.just("allowed_roots"), JSON),
            "stage": JSON,
        },
    )
)
def test_portable_accepts_any_mapping(raw: dict[str, Any]) -> None:
    assert canonical_json(_portable(raw)) == canonical_json(_portable(raw))
