"""Cross-field rules: each breach with its code, place and full message."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bfcl.config.credentials import is_secret_key
from tests.config.builder import MODEL, complaints, edited

NAMES = [
    pytest.param(
        {"expt_name": " a"},
        (
            'configs/run.yaml:2: generation_config_invalid: expt_name is " a", which has blanks around it; '
            "expected one path component"
        ),
        id="padded",
    ),
    pytest.param(
        {"expt_name": ".."},
        (
            'configs/run.yaml:2: generation_config_invalid: expt_name is "..", which is a directory\'s own '
            "name; expected one path component"
        ),
        id="parent-directory",
    ),
    pytest.param(
        {"expt_name": "a/b"},
        (
            'configs/run.yaml:2: generation_config_invalid: expt_name is "a/b", which holds a separator; '
            "expected one path component"
        ),
        id="slash",
    ),
    pytest.param(
        {"expt_name": "a\\b"},
        (
            'configs/run.yaml:2: generation_config_invalid: expt_name is "a\\\\b", which holds a separator; '
            "expected one path component"
        ),
        id="backslash",
    ),
    pytest.param(
        {"expt_name": "a\nb"},
        (
            'configs/run.yaml:2: generation_config_invalid: expt_name is "a\\nb", which holds a control '
            "character; expected one path component"
        ),
        id="control-character",
    ),
    pytest.param(
        {"expt_name": "é" * 128},
        (
            "configs/run.yaml:2: generation_config_invalid: expt_name is "
            '"éééééééééééééééééééééééééééééééééééééééééééééééééééééééé..., which has 256 bytes, above the '
            "255 a file name may have; expected one path component"
        ),
        id="too-long",
    ),
    pytest.param(
        {"expt_name": ""},
        ('configs/run.yaml:2: generation_config_invalid: expt_name is ""; expected one path component'),
        id="empty",
    ),
]

BROKEN = [
    pytest.param(
        {
            "config_status": "resolved",
            "oracle_pack.manifest_path": "REPLACE_ME_PACK/manifest.yaml",
            "eval": {"judges": [{"x": "a REPLACE_ME_b"}]},
        },
        (
            "configs/run.yaml:5: generation_config_invalid: `config_status: resolved`, but `REPLACE_ME_` is "
            "still in oracle_pack.manifest_path, eval.judges[0].x; expected real values\n"
            "  fix: fill them in, or set `config_status: template`"
        ),
        id="resolved-with-placeholders",
    ),
    pytest.param(
        {"output_dir": "../packs/sample/out"},
        (
            "configs/run.yaml:3: output_inside_pack: output_dir leads to the run tree "
            "~/packs/sample/out/trial, inside the pack ~/packs/sample; expected a place outside it\n"
            "  fix: name a directory beside the pack"
        ),
        id="run-tree-below-the-pack",
    ),
    pytest.param(
        {"output_dir": "../packs", "expt_name": "sample"},
        (
            "configs/run.yaml:3: output_inside_pack: output_dir leads to the run tree ~/packs/sample, "
            "inside the pack ~/packs/sample; expected a place outside it\n"
            "  fix: name a directory beside the pack"
        ),
        id="run-tree-is-the-pack",
    ),
    pytest.param(
        {"oracle_pack.backend_path": "b.py", "oracle_pack.endpoint_config_path": "e.yaml"},
        (
            "configs/run.yaml:7: generation_config_invalid: oracle_pack.endpoint_config_path is set beside "
            "`oracle_pack.backend_path`; expected one oracle\n"
            "  fix: remove one of the two"
        ),
        id="two-oracles",
    ),
    pytest.param(
        {"eval_config_path": "e.yaml", "eval": {}},
        (
            "configs/run.yaml:11: generation_config_invalid: eval is set beside `eval_config_path`; "
            "expected one of the two\n"
            "  fix: remove one of the two"
        ),
        id="two-evaluations",
    ),
    pytest.param(
        {
            "lineage.roles.profile": {
                "enabled": False,
                "model_config": {"inference_parameters": {"headers": [{"X-Api-Key": "sk-hidden"}]}},
            }
        },
        (
            "configs/run.yaml:16: model_lineage_invalid: "
            "lineage.roles.profile.model_config.inference_parameters.headers[0].X-Api-Key is <str, 9>, a "
            "credential by its name; expected none in a configuration\n"
            "  fix: remove it, revoke it if it was shared, and name an environment variable under "
            "`api_key_env`"
        ),
        id="credential-deep-in-a-role",
    ),
    pytest.param(
        {"Password": "hunter2hunter2"},
        (
            "configs/run.yaml:10: model_lineage_invalid: Password is <str, 14>, a credential by its name; "
            "expected none in a configuration\n"
            "  fix: remove it, revoke it if it was shared, and name an environment variable under "
            "`api_key_env`"
        ),
        id="credential-at-the-top",
    ),
    pytest.param(
        {"surface_generation.token": ["hunter2"]},
        (
            "configs/run.yaml:11: model_lineage_invalid: surface_generation.token is <list, 1>, a "
            "credential by its name; expected none in a configuration\n"
            "  fix: remove it, revoke it if it was shared, and name an environment variable under "
            "`api_key_env`"
        ),
        id="credential-in-an-open-block",
    ),
    pytest.param(
        {
            "lineage.roles.paraphrase": {"enabled": True},
            "surface_generation.model_paraphrase_enabled": True,
            "surface_generation.paraphrases_per_template": 1,
        },
        (
            "configs/run.yaml:11: model_lineage_invalid: lineage.roles.paraphrase.model_config is missing; "
            "expected a mapping, since `lineage.roles.paraphrase` is enabled\n"
            "  fix: name the model, or set `enabled: false`"
        ),
        id="role-without-a-model",
    ),
    pytest.param(
        {
            "lineage.roles.paraphrase": {
                "enabled": True,
                "model_config": {"alias": " ", "provider": 3, "model": "m", "inference_parameters": []},
            },
            "surface_generation.model_paraphrase_enabled": True,
            "surface_generation.paraphrases_per_template": 1,
        },
        (
            "configs/run.yaml:13: model_lineage_invalid: lineage.roles.paraphrase.model_config.canonical_id "
            "is missing; expected non-empty text\n"
            "configs/run.yaml:14: model_lineage_invalid: lineage.roles.paraphrase.model_config.alias is "
            "<str, 1>; expected non-empty text\n"
            "configs/run.yaml:15: model_lineage_invalid: lineage.roles.paraphrase.model_config.provider is "
            "<int>; expected non-empty text\n"
            "configs/run.yaml:17: model_lineage_invalid: "
            "lineage.roles.paraphrase.model_config.inference_parameters is <list, 0>; expected a mapping"
        ),
        id="role-with-a-vague-model",
    ),
    pytest.param(
        {
            "lineage.policy": "strict_separation",
            "lineage.roles.paraphrase": {"enabled": True, "model_config": MODEL},
            "lineage.roles.surface_judge": {
                "enabled": True,
                "model_config": {"alias": "m", "provider": "p", "model": "m-1", "canonical_id": " P/M-1 "},
            },
            "surface_generation.model_paraphrase_enabled": True,
            "surface_generation.paraphrases_per_template": 1,
            "surface_quality_validation.enabled": True,
            "lineage.judge_advisory": True,
        },
        (
            "configs/run.yaml:24: model_lineage_invalid: "
            "lineage.roles.surface_judge.model_config.canonical_id names one model for `paraphrase` and "
            "`surface_judge`; `strict_separation` expects a different one for each role\n"
            "  fix: pin another model, or disable one of the roles"
        ),
        id="roles-sharing-a-model",
    ),
    pytest.param(
        {"lineage.roles.profile": {"enabled": True, "model_config": MODEL}},
        (
            "configs/run.yaml:12: model_lineage_invalid: lineage.roles.profile.enabled is true without "
            "`reference_benchmark`; expected samples to learn from\n"
            "  fix: pin a `reference_benchmark`"
        ),
        id="profile-without-samples",
    ),
    pytest.param(
        {"lineage.profile_influenced_surface": True},
        (
            "configs/run.yaml:10: model_lineage_invalid: lineage.profile_influenced_surface is true while "
            "`lineage.roles.profile` is off; expected it enabled\n"
            "  fix: set it to false, or enable the role\n"
            "configs/run.yaml:10: model_lineage_invalid: lineage.profile_influenced_surface is true while "
            "`surface_generation.model_paraphrase_enabled` is false; expected paraphrasing\n"
            "  fix: set it to false, or enable paraphrasing"
        ),
        id="influence-without-profile-and-paraphrase",
    ),
    pytest.param(
        {"lineage.judge_advisory": False},
        (
            "configs/run.yaml:10: model_lineage_invalid: lineage.judge_advisory is false; expected null "
            "while the surface judge is off\n"
            "  fix: set it to null"
        ),
        id="advice-without-judge",
    ),
    pytest.param(
        {
            "lineage.roles.surface_judge": {"enabled": True, "model_config": MODEL},
            "surface_quality_validation.enabled": True,
        },
        (
            "configs/run.yaml:8: model_lineage_invalid: lineage.judge_advisory is null; expected true with "
            "`surface_quality_validation.drop_authority` false\n"
            "  fix: set it to true"
        ),
        id="advice-missing",
    ),
    pytest.param(
        {
            "lineage.roles.surface_judge": {"enabled": True, "model_config": MODEL},
            "surface_quality_validation.enabled": True,
            "surface_quality_validation.drop_authority": True,
            "lineage.judge_advisory": True,
        },
        (
            "configs/run.yaml:18: model_lineage_invalid: lineage.judge_advisory is true; expected false "
            "with `surface_quality_validation.drop_authority` true\n"
            "  fix: set it to false"
        ),
        id="advice-against-authority",
    ),
    pytest.param(
        {"surface_generation.model_paraphrase_enabled": True, "surface_generation.paraphrases_per_template": 1},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_generation.model_paraphrase_enabled is "
            "true; expected false, as `lineage.roles.paraphrase.enabled`"
        ),
        id="paraphrase-switch-against-role",
    ),
    pytest.param(
        {"surface_generation.paraphrases_per_template": 2},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_generation.paraphrases_per_template is "
            "2 while paraphrasing is off; expected 0"
        ),
        id="paraphrases-while-off",
    ),
    pytest.param(
        {
            "surface_generation.model_paraphrase_enabled": True,
            "lineage.roles.paraphrase": {"enabled": True, "model_config": MODEL},
        },
        (
            "configs/run.yaml:18: generation_config_invalid: surface_generation.paraphrases_per_template is "
            "0 while paraphrasing is on; expected at least 1"
        ),
        id="no-paraphrases-while-on",
    ),
    pytest.param(
        {
            "surface_generation.model_paraphrase_enabled": True,
            "lineage.roles.paraphrase": {"enabled": True, "model_config": MODEL},
            "surface_generation.paraphrases_per_template": 2,
            "surface_generation.surface_style_axes": ["a"],
        },
        (
            "configs/run.yaml:20: generation_config_invalid: surface_generation.paraphrases_per_template is "
            "2; expected at most 1, the number of style axes"
        ),
        id="paraphrases-above-axes",
    ),
    pytest.param(
        {
            "surface_generation.model_paraphrase_enabled": True,
            "lineage.roles.paraphrase": {"enabled": True, "model_config": MODEL},
            "surface_generation.paraphrases_per_template": 21,
        },
        (
            "configs/run.yaml:20: generation_config_invalid: surface_generation.paraphrases_per_template is "
            "21; expected at most 20, the number of style axes"
        ),
        id="paraphrases-above-built-in-axes",
    ),
    pytest.param(
        {"lineage.roles.surface_judge": {"enabled": True, "model_config": MODEL}, "lineage.judge_advisory": True},
        (
            "configs/run.yaml:1: generation_config_invalid: surface_quality_validation.enabled is false "
            "while `lineage.roles.surface_judge.enabled` is true; expected true\n"
            "  fix: set it to true, or `lineage.roles.surface_judge.enabled` to false"
        ),
        id="judge-without-quality",
    ),
    pytest.param(
        {
            "semantic_deduplication_config.enabled": True,
            "semantic_deduplication_config.model_identifier": "x",
            "semantic_deduplication_config.n_clusters": 2,
            "semantic_deduplication_config.eps": 0.1,
            "semantic_deduplication_config.remove_duplicates": True,
        },
        (
            "configs/run.yaml:1: generation_config_invalid: surface_quality_validation.enabled is false "
            "while `semantic_deduplication_config.enabled` is true; expected true\n"
            "  fix: set it to true, or `semantic_deduplication_config.enabled` to false"
        ),
        id="deduplication-without-quality",
    ),
    pytest.param(
        {"surface_quality_validation.drop_authority": True},
        (
            "configs/run.yaml:11: generation_config_invalid: surface_quality_validation.drop_authority is "
            "true while the surface judge is off; expected false"
        ),
        id="authority-without-judge",
    ),
    pytest.param(
        {"task_generation.tasks_per_category": 3, "task_generation.candidate_tasks_per_category": 2},
        (
            "configs/run.yaml:12: generation_config_invalid: task_generation.candidate_tasks_per_category "
            "is 2; expected at least `task_generation.tasks_per_category`, which is 3"
        ),
        id="candidates-below-tasks",
    ),
    pytest.param(
        {"task_generation.turn_mix": {"single_turn": 0.5, "multi_turn": 0.4}},
        ("configs/run.yaml:11: generation_config_invalid: task_generation.turn_mix adds up to 0.9; expected 1"),
        id="mix-not-adding-up",
    ),
    pytest.param(
        {"semantic_deduplication_config.enabled": True, "surface_quality_validation.enabled": True},
        (
            "configs/run.yaml:10: generation_config_invalid: semantic_deduplication_config.model_identifier "
            "is missing; expected a value, since `semantic_deduplication_config.enabled` is true\n"
            "  fix: add `model_identifier`\n"
            "configs/run.yaml:10: generation_config_invalid: semantic_deduplication_config.n_clusters is "
            "missing; expected a value, since `semantic_deduplication_config.enabled` is true\n"
            "  fix: add `n_clusters`\n"
            "configs/run.yaml:10: generation_config_invalid: semantic_deduplication_config.eps is missing; "
            "expected a value, since `semantic_deduplication_config.enabled` is true\n"
            "  fix: add `eps`\n"
            "configs/run.yaml:10: generation_config_invalid: "
            "semantic_deduplication_config.remove_duplicates is missing; expected a value, since "
            "`semantic_deduplication_config.enabled` is true\n"
            "  fix: add `remove_duplicates`"
        ),
        id="deduplication-undecided",
    ),
]


@pytest.mark.parametrize(("edits", "message"), NAMES)
def test_expt_name_refuses_what_is_no_path_component(tmp_path: Path, edits: Mapping[str, Any], message: str) -> None:
    assert "\n".join(complaints(tmp_path, edited(edits), "prepare")) == message


@pytest.mark.parametrize(("edits", "message"), BROKEN)
def test_rules_refuse_settings_that_disagree(tmp_path: Path, edits: Mapping[str, Any], message: str) -> None:
    assert "\n".join(complaints(tmp_path, edited(edits), "prepare")) == message


def test_rules_and_shape_report_together_in_file_order(tmp_path: Path) -> None:
    raw = edited({"expt_name": "..", "colour": 1, "lineage.judge_advisory": True, "exports.csv": True})
    assert complaints(tmp_path, raw) == [
        (
            'configs/run.yaml:2: generation_config_invalid: expt_name is "..", which is a directory\'s own name; '
            "expected one path component"
        ),
        (
            "configs/run.yaml:10: model_lineage_invalid: lineage.judge_advisory is true; "
            "expected null while the surface judge is off\n"
            "  fix: set it to null"
        ),
        "configs/run.yaml:11: generation_config_invalid: colour is not a key of the configuration\n  fix: remove it",
        (
            "configs/run.yaml:13: unsupported_config_feature: exports.csv is not a key of `exports`, so nothing would "
            "honour it\n"
            "  fix: remove it; known here: `bfcl_json`, `nemo_evaluator_bundle`, `openai_chat_jsonl`, "
            "`inspect_ai`, `hugging_face`"
        ),
    ]


def test_output_outside_pack_follows_symlinks_of_the_run_tree(tmp_path: Path) -> None:
    (tmp_path / "packs" / "sample").mkdir(parents=True)
    (tmp_path / "build" / "runs").mkdir(parents=True)
    (tmp_path / "build" / "runs" / "trial").symlink_to(tmp_path / "packs" / "sample")
    assert complaints(tmp_path, edited({}), "prepare") == [
        (
            "configs/run.yaml:3: output_inside_pack: output_dir leads to the run tree ~/packs/sample, inside the pack "
            "~/packs/sample; expected a place outside it\n"
            "  fix: name a directory beside the pack"
        )
    ]


def test_paths_refuse_lengths_no_file_system_holds(tmp_path: Path) -> None:
    edits = {
        "oracle_pack.manifest_path": "b" * 256 + "/manifest.yaml",
        "oracle_runtime.allowed_roots": ["..", "/" + "a/" * 2000],
    }
    assert complaints(tmp_path, edited(edits), "prepare") == [
        (
            "configs/run.yaml:5: generation_config_invalid: oracle_pack.manifest_path has a name of 256 bytes, above "
            "the 255 a file name may have; expected a path a file system can hold"
        ),
        (
            "configs/run.yaml:10: generation_config_invalid: oracle_runtime.allowed_roots[1] has 4000 bytes, "
            "above 3500; expected a path a file system can hold"
        ),
    ]


def test_output_beside_a_pack_of_a_longer_name_is_accepted(tmp_path: Path) -> None:
    assert complaints(tmp_path, edited({"output_dir": "../packs", "expt_name": "sample2"})) == []


def test_unfilled_says_nothing_about_a_template(tmp_path: Path) -> None:
    raw = edited({"expt_name": "REPLACE_ME_NAME"})
    assert complaints(tmp_path, raw) == []
    assert complaints(tmp_path, {**raw, "config_status": "template"}) == []


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("api_key", True),
        ("API-KEY", True),
        ("apikey", True),
        ("Authorization", True),
        ("service_password", True),
        ("x-auth-token", True),
        ("client_secret", True),
        ("my_access_token", True),
        ("api_key_env", False),
        ("max_tokens", False),
        ("token_budget", False),
        ("passwordless", False),
    ],
)
def test_credentials_are_known_by_the_name_of_their_key(key: str, secret: bool) -> None:
    assert is_secret_key(key) is secret


@pytest.mark.parametrize(
    "place", ["lineage.roles.profile.model_config", "eval", "surface_generation", "task_generation"]
)
def test_credentials_are_refused_once_and_never_echoed(tmp_path: Path, place: str) -> None:
    found = complaints(tmp_path, edited({f"{place}.bearer_token": "sk-do-not-show"}), "prepare")
    assert [problem.split(": ")[1] for problem in found] == ["model_lineage_invalid"]
    assert f"{place}.bearer_token is <str, 14>, a credential by its name" in found[0]
    assert "sk-do-not-show" not in found[0]


def test_roles_may_share_a_model_in_a_smoke_run(tmp_path: Path) -> None:
    role = {"enabled": True, "model_config": {**MODEL, "api_key_env": "KEY", "inference_parameters": {"top_p": 1}}}
    edits = {
        "lineage.roles": {"paraphrase": role, "surface_judge": role},
        "lineage.judge_advisory": True,
        "surface_generation": {"model_paraphrase_enabled": True, "paraphrases_per_template": 20},
        "surface_quality_validation.enabled": True,
    }
    assert complaints(tmp_path, edited(edits), "prepare") == []


def test_judge_with_authority_is_not_advisory(tmp_path: Path) -> None:
    edits = {
        "lineage.roles.surface_judge": {"enabled": True, "model_config": MODEL},
        "lineage.judge_advisory": False,
        "surface_quality_validation": {"enabled": True, "drop_authority": True},
    }
    assert complaints(tmp_path, edited(edits), "prepare") == []


def test_mix_adds_up_within_rounding(tmp_path: Path) -> None:
    edits = {"task_generation.difficulty_mix": {"a": 0.1, "b": 0.2, "c": 0.7}, "task_generation.turn_mix.multi_turn": 1}
    assert complaints(tmp_path, edited(edits), "prepare") == []
