"""Settings nothing honours: refused by what generates, tolerated by `prepare`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.config.builder import MODEL, complaints, edited

UNSUPPORTED = [
    pytest.param(
        {"input_dir": "x", "generation_model_config": {}, "judge_model_config": 0},
        (
            "configs/run.yaml:10: unsupported_config_feature: input_dir belongs to another family of "
            "pipelines; expected null or no such key\n"
            "  fix: remove it\n"
            "configs/run.yaml:11: unsupported_config_feature: generation_model_config belongs to another "
            "family of pipelines; expected null or no such key\n"
            "  fix: remove it\n"
            "configs/run.yaml:12: unsupported_config_feature: judge_model_config belongs to another family "
            "of pipelines; expected null or no such key\n"
            "  fix: remove it"
        ),
        id="foreign-family",
    ),
    pytest.param(
        {"eval_config_path": "e.yaml", "translation_config_path": "t.yaml", "translation": {}},
        (
            "configs/run.yaml:10: unsupported_config_feature: eval_config_path is a setting of `doit eval`, "
            "which generation never runs; expected null or no such key\n"
            "  fix: keep it in a configuration of its own\n"
            "configs/run.yaml:11: unsupported_config_feature: translation_config_path is a setting of `doit "
            "translate`, which generation never runs; expected null or no such key\n"
            "  fix: keep it in a configuration of its own\n"
            "configs/run.yaml:12: unsupported_config_feature: translation is a setting of `doit translate`, "
            "which generation never runs; expected null or no such key\n"
            "  fix: keep it in a configuration of its own"
        ),
        id="settings-of-other-commands",
    ),
    pytest.param(
        {"eval": {}},
        (
            "configs/run.yaml:10: unsupported_config_feature: eval is a setting of `doit eval`, which "
            "generation never runs; expected null or no such key\n"
            "  fix: keep it in a configuration of its own"
        ),
        id="evaluation-block",
    ),
    pytest.param(
        {"surface_generation.languge": "en", "exports": {"csv": False}},
        (
            "configs/run.yaml:11: unsupported_config_feature: surface_generation.languge is not a key of "
            "`surface_generation`, so nothing would honour it\n"
            "  fix: did you mean `language`?\n"
            "configs/run.yaml:13: unsupported_config_feature: exports.csv is not a key of `exports`, so "
            "nothing would honour it\n"
            "  fix: remove it; known here: `bfcl_json`, `nemo_evaluator_bundle`, `openai_chat_jsonl`, "
            "`inspect_ai`, `hugging_face`"
        ),
        id="unknown-keys-of-open-blocks",
    ),
    pytest.param(
        {
            "task_generation.target_published_tasks": 3,
            "task_generation.max_turns": 1,
            "task_generation.max_tool_calls": 1,
            "task_generation.max_intent_share": 0.5,
            "task_generation.difficulty_mix": {"easy": 1},
            "task_generation.turn_mix": {"single_turn": 1},
            "task_generation.tool_call_count_mix": {"3+": 1},
            "task_generation.policy_mix": {"irrelevant": 1.0},
        },
        (
            "configs/run.yaml:11: unsupported_config_feature: task_generation.target_published_tasks needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it\n"
            "configs/run.yaml:12: unsupported_config_feature: task_generation.max_turns needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it\n"
            "configs/run.yaml:13: unsupported_config_feature: task_generation.max_tool_calls needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it\n"
            "configs/run.yaml:14: unsupported_config_feature: task_generation.max_intent_share needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it\n"
            "configs/run.yaml:15: unsupported_config_feature: task_generation.difficulty_mix needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it\n"
            "configs/run.yaml:17: unsupported_config_feature: task_generation.turn_mix needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it\n"
            "configs/run.yaml:19: unsupported_config_feature: task_generation.tool_call_count_mix needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it\n"
            "configs/run.yaml:21: unsupported_config_feature: task_generation.policy_mix needs "
            "`semantic_deduplication_config.enabled`; without it nothing would honour the target\n"
            "  fix: remove it"
        ),
        id="balancing-without-deduplication",
    ),
    pytest.param(
        {"task_generation.tasks_per_category": 2, "task_generation.candidate_tasks_per_category": 5},
        (
            "configs/run.yaml:12: unsupported_config_feature: task_generation.candidate_tasks_per_category "
            "is 5, above `task_generation.tasks_per_category` 2: a surplus needs "
            "`semantic_deduplication_config.enabled`\n"
            "  fix: remove it, or raise `tasks_per_category`"
        ),
        id="surplus-candidates",
    ),
    pytest.param(
        {
            "lineage.policy": "strict_separation",
            "lineage.roles": {
                "paraphrase": {"enabled": True, "model_config": MODEL},
                "surface_judge": {
                    "enabled": True,
                    "model_config": {"alias": "m", "provider": "p", "model": "m-1", "canonical_id": "b"},
                },
            },
            "surface_generation.model_paraphrase_enabled": True,
            "surface_generation.paraphrases_per_template": 1,
            "surface_quality_validation.enabled": True,
            "lineage.judge_advisory": True,
            "semantic_deduplication_config.enabled": True,
            "semantic_deduplication_config.model_identifier": "x",
            "semantic_deduplication_config.n_clusters": 2,
            "semantic_deduplication_config.eps": 0.1,
            "semantic_deduplication_config.remove_duplicates": True,
            "task_generation.max_turns": 3,
            "oracle_pack.endpoint_config_path": "e.yaml",
        },
        (
            "configs/run.yaml:6: unsupported_config_feature: oracle_pack.endpoint_config_path is set; this "
            "release runs Python oracles only\n"
            "  fix: name a `backend_path`\n"
            "configs/run.yaml:13: unsupported_config_feature: lineage.roles.paraphrase.enabled is true; "
            "this release has no stage for it\n"
            "  fix: set it to false\n"
            "configs/run.yaml:20: unsupported_config_feature: lineage.roles.surface_judge.enabled is true; "
            "this release has no stage for it\n"
            "  fix: set it to false\n"
            "configs/run.yaml:28: unsupported_config_feature: surface_generation.model_paraphrase_enabled "
            "is true; this release has no stage for it\n"
            "  fix: set it to false"
        ),
        id="unbuilt-stages",
    ),
]


@pytest.mark.parametrize("command", ["generate", "all"])
@pytest.mark.parametrize(("edits", "message"), UNSUPPORTED)
def test_features_refuse_settings_nothing_honours_when_generating(
    tmp_path: Path, edits: Mapping[str, Any], message: str, command: Any
) -> None:
    assert "\n".join(complaints(tmp_path, edited(edits), command)) == message


@pytest.mark.parametrize(("edits", "message"), UNSUPPORTED)
def test_features_are_tolerated_by_prepare(tmp_path: Path, edits: Mapping[str, Any], message: str) -> None:
    assert complaints(tmp_path, edited(edits), "prepare") == []


@pytest.mark.parametrize(
    "edits",
    [
        {"task_generation": {"tasks_per_category": 3, "candidate_tasks_per_category": 3}},
        {"exports": {"bfcl_json": False, "nemo_evaluator_bundle": False}},
        {
            "exports": {
                "bfcl_json": True,
                "nemo_evaluator_bundle": True,
                "openai_chat_jsonl": True,
                "inspect_ai": True,
                "hugging_face": True,
            }
        },
        {"lineage.roles": {"profile": {"enabled": False}, "surface_judge": {"enabled": False, "model_config": {}}}},
        {"surface_quality_validation": {"enabled": False, "drop_authority": False, "contract_version": "1.1"}},
    ],
)
def test_features_switched_off_are_accepted(tmp_path: Path, edits: Mapping[str, Any]) -> None:
    assert complaints(tmp_path, edited(edits), "generate") == []
