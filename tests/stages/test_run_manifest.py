"""What the manifest says."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import Json
from bfcl.config.model import ReferenceBenchmark
from bfcl.digest import sha256_json, sha256_of
from bfcl.graph.publish import StagedTables
from bfcl.pack.fingerprint import fingerprint
from bfcl.pack.held_out import policy_summary
from bfcl.stages.artifacts import ARTIFACTS, stage_artifacts
from bfcl.stages.held_out_scan import held_out_scan, stage_four
from bfcl.stages.run_manifest import ManifestInputs, run_id, run_manifest
from bfcl.tables.benchmark import BenchmarkInfo
from tests.release.samples import PACK_FILES, config, decision, decisions, inputs
from tests.stages.policies import POLICY, bindings, scanned

RAW = BenchmarkInfo(5, sha256_of(b"raw bytes"), sha256_of(b"raw rows"))
PUBLISHED = BenchmarkInfo(4, sha256_of(b"published bytes"), sha256_of(b"published rows"))


def made(**changes: Any) -> dict[str, Json]:
    return run_manifest(dataclasses.replace(given_inputs(), **changes))


def given_inputs() -> ManifestInputs:
    """Five raw rows, one guarded away, and a sixth task that failed its replay."""
    artifacts = {name: sha256_of(name.encode()) for name in stage_artifacts(())}
    outcome = [*decisions(5, rejected=(2,)), decision(6, reason="assertion_failed")]
    return inputs(Path("/runs/demo"), outcome, StagedTables(RAW, PUBLISHED), artifacts)


def test_what_a_run_had_cannot_be_left_out_and_taken_for_a_default() -> None:
    needed = {field.name for field in dataclasses.fields(ManifestInputs) if field.default is dataclasses.MISSING}
    assert needed >= {"artifacts", "holding", "exports", "build"}


def test_manifest_has_exactly_the_keys_of_the_contract() -> None:
    assert sorted(made()) == [
        "artifacts",
        "bias_applicability",
        "bias_targets",
        "build",
        "created_at",
        "exports",
        "generation_config_hash",
        "generation_mode",
        "gold_eligible",
        "gold_ineligibility_reasons",
        "held_out",
        "judge_advisory",
        "lineage_policy",
        "models",
        "oracle",
        "oracle_clock",
        "pack",
        "paraphrase_rejections",
        "pipeline_version",
        "profile_influenced_surface",
        "prompt_bundle_hash",
        "publication",
        "reference_benchmark",
        "resolved_config_hash",
        "run_id",
        "runtime",
        "schema_version",
        "seeds",
        "semantic_deduplication",
        "stage_counts",
        "surface_guard_rejections",
        "surface_quality_validation",
        "tier",
        "trace_drop_rejections",
    ]


def test_manifest_of_equal_inputs_is_pinned() -> None:
    assert sha256_json(made()) == "sha256:89cf2ec937e7a33b47605d31a1117fb09792545eeb9e8b446f7970cf95fb6731"


def test_manifest_says_what_was_run() -> None:
    manifest = made()
    told = ("schema_version", "run_id", "created_at", "oracle_clock", "generation_mode", "pipeline_version")
    assert {key: manifest[key] for key in told} == {
        "schema_version": "1.1",
        "run_id": "demo-20260102T030405678901Z-0123456789ab-" + "f" * 32,
        "created_at": "2026-01-02T03:04:05.678901+00:00",
        "oracle_clock": "2026-01-01T00:00:00+00:00",
        "generation_mode": "template_only",
        "pipeline_version": "0.1.0",
    }
    assert manifest["runtime"] == {
        "python": "3.11.9",
        "platform": "linux",
        "machine": "x86_64",
        "pyarrow": "26.0.1",
        "isolation": {"landlock": 4},
        "pipeline_git_sha": None,
        "pipeline_git_dirty": None,
        "pipeline_source_hash": None,
        "dependency_lock_hash": None,
        "worker_image_digest": None,
    }
    assert manifest["pack"] == {
        "pack_id": "plant",
        "version": "1.0",
        "content_hash": fingerprint(PACK_FILES),
        "fingerprint_contract": "bfcl-pack-fingerprint/1",
        "files": {"tree/manifest.yaml": sha256_of(b"manifest"), "tree/tools.json": sha256_of(b"tools")},
    }
    assert manifest["oracle"] == {"kind": "python", "endpoint_metadata": None}
    assert manifest["seeds"] == {
        "global": 7,
        "derivation": "first 8 bytes, big-endian unsigned, of sha256 of the canonical JSON of {pack_id, pack_version, "
        "template_id, fixture_refs, slot_bindings, variant_index, global_seed}",
    }


def test_manifest_says_what_was_published() -> None:
    assert made()["publication"] == {
        "schema_version": "1.0",
        "raw": {
            "file": "benchmark_raw.parquet",
            "rows": 5,
            "content_hash": RAW.content_hash,
            "rows_digest": RAW.rows_digest,
            "contains": "schema_valid_and_replay_valid_rows",
        },
        "published": {
            "file": "benchmark.parquet",
            "rows": 4,
            "content_hash": PUBLISHED.content_hash,
            "rows_digest": PUBLISHED.rows_digest,
            "surface_gate": "deterministic_guards",
            "dedup_balancing_applied": False,
            "held_out_evaluated": False,
            "ordering": "raw_order",
        },
        "restated_fields": [],
        "verified": True,
    }


def test_manifest_counts_every_stage_and_its_losses() -> None:
    manifest = made()
    assert manifest["stage_counts"] == {
        "expanded": 6,
        "canonical_expanded": 6,
        "paraphrase_requested": 0,
        "paraphrase_accepted": 0,
        "paraphrase_rejected": 0,
        "surface_passed": 5,
        "trace_derived": 6,
        "trace_dropped": 0,
        "schema_passed": 6,
        "replay_passed": 5,
        "published": 4,
    }
    assert manifest["surface_guard_rejections"] == {"by_template": {"read_then_set": 1}}
    assert manifest["trace_drop_rejections"] == {"count": 0, "by_reason": {}}
    assert manifest["bias_targets"] == {
        "tasks_per_category": 1,
        "candidate_tasks_per_category": 1,
        "target_published_tasks": None,
        "max_turns": None,
        "max_tool_calls": None,
        "max_intent_share": None,
        "difficulty_mix": None,
        "turn_mix": None,
        "tool_call_count_mix": None,
        "policy_mix": None,
    }


def test_manifest_shows_features_without_a_stage_in_their_off_form() -> None:
    manifest = made()
    off = {
        "alias": None,
        "provider": None,
        "model_identity": {"source": None, "model": None, "revision": None, "weights_digest": None},
        "canonical_id": None,
        "config_hash": None,
        "enabled": False,
    }
    assert manifest["models"] == {"profile": off, "paraphrase": off, "surface_judge": off}
    assert (manifest["profile_influenced_surface"], manifest["judge_advisory"]) == (False, None)
    assert manifest["reference_benchmark"] is None
    assert manifest["surface_quality_validation"] == {
        "contract_version": "1.1",
        "enabled": False,
        "drop_authority": False,
        "report": None,
    }
    assert manifest["semantic_deduplication"] == {
        "contract_version": "1.0",
        "enabled": False,
        "model_identifier": None,
        "settings_hash": None,
        "embedding_signature": None,
        "report": None,
    }
    assert manifest["held_out"] == {
        "contract_version": "1.0",
        "source": None,
        "evaluated": False,
        "rows_scanned": 0,
        "rows_dropped": 0,
    }
    assert manifest["exports"] == {
        "schema_version": "1.0",
        "evaluated": False,
        "status": None,
        "benchmark_rows": 4,
        "benchmark_content_hash": PUBLISHED.content_hash,
        "validation_report": None,
        "formats": {
            name: {"enabled": False}
            for name in ("bfcl_json", "hugging_face", "inspect_ai", "nemo_evaluator_bundle", "openai_chat_jsonl")
        },
    }
    assert manifest["paraphrase_rejections"] == {
        "requested_candidates": 0,
        "accepted_candidates": 0,
        "rejected_candidates": 0,
        "by_reason": {},
        "by_template": {},
    }


def test_manifest_of_a_smoke_run_below_gold_gives_both_reasons() -> None:
    manifest = made(tier="silver", config=config(Path("/runs/demo"), "smoke_no_publication"))
    assert (manifest["tier"], manifest["gold_eligible"]) == ("silver", False)
    assert manifest["gold_ineligibility_reasons"] == ("pack_tier_not_gold", "smoke_no_publication")
    assert manifest["lineage_policy"] == "smoke_no_publication"
    assert (made()["gold_eligible"], made()["gold_ineligibility_reasons"]) == (True, ())


def test_manifest_names_the_reference_samples_by_their_portable_path() -> None:
    reference = ReferenceBenchmark(name="ref", samples_path=Path("/abs/s.jsonl"), content_hash=sha256_of(b"s"))
    changed = dataclasses.replace(config(), reference_benchmark=reference)
    assert made(config=changed, reference_samples="<project>/s.jsonl")["reference_benchmark"] == {
        "name": "ref",
        "samples_path": "<project>/s.jsonl",
        "content_hash": sha256_of(b"s"),
    }


def test_manifest_lists_every_artifact_with_its_hash() -> None:
    assert made()["artifacts"] == {
        **{name: {"content_hash": sha256_of(name.encode())} for name in stage_artifacts(())},
        "benchmark_raw_parquet": {"content_hash": RAW.content_hash},
        "benchmark_parquet": {"content_hash": PUBLISHED.content_hash},
    }


def test_artifact_files_are_the_documented_names() -> None:
    assert {name: artifact.file for name, artifact in ARTIFACTS.items()} == {
        "tools_internal": "stage_cache/tools_normalized_internal.json",
        "tools_model_facing": "stage_cache/tools_normalized.json",
        "oracle_validation_report": "stage_cache/oracle_validation_report.json",
        "pack_manifest": "stage_cache/pack_manifest.json",
        "fixtures_normalized": "stage_cache/fixtures_normalized.json",
        "task_templates_normalized": "stage_cache/task_templates_normalized.yaml",
        "reference_samples": "stage_cache/reference_samples.parquet",
        "reference_profile": "stage_cache/reference_profile.json",
        "task_instances": "stage_cache/task_instances.parquet",
        "conversation_plans": "stage_cache/conversation_plans.parquet",
        "rendered_conversations": "stage_cache/rendered_conversations.parquet",
        "expected_traces": "stage_cache/expected_traces.parquet",
        "schema_validated_traces": "stage_cache/schema_validated_traces.parquet",
        "replay_validated_tasks": "stage_cache/replay_validated_tasks.parquet",
        "held_out_normalized": "stage_cache/held_out_normalized.json",
        "held_out_bindings": "stage_cache/held_out_bindings.json",
        "held_out_scan": "stage_cache/held_out_scan.json",
        "surface_validated_tasks": "stage_cache/surface_validated_tasks.parquet",
        "surface_quality_rejections": "stage_cache/surface_quality_rejections.json",
        "balanced_tasks": "stage_cache/balanced_tasks.parquet",
        "dedup_balancing_report": "stage_cache/dedup_balancing_report.json",
        "export_validation_report": "exports/export_validation_report.json",
        "benchmark_raw_parquet": "benchmark_raw.parquet",
        "benchmark_parquet": "benchmark.parquet",
    }


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("held_out", ["held_out_bindings", "held_out_normalized", "held_out_scan"]),
        ("surface_quality", ["surface_quality_rejections", "surface_validated_tasks"]),
        ("dedup_balancing", ["balanced_tasks", "dedup_balancing_report"]),
        ("exports", []),
    ],
)
def test_artifacts_that_not_every_run_has(condition: Any, names: list[str]) -> None:
    assert sorted(stage_artifacts({condition}).keys() - stage_artifacts(()).keys()) == names


def under_policy(**changes: Any) -> dict[str, Any]:
    """Inputs of a run whose five raw rows were scanned."""
    given = given_inputs()
    scan = held_out_scan(scanned(5, POLICY), POLICY, stage_four(bindings(POLICY, 6), POLICY, 6), planned=4)
    return {
        "pack": dataclasses.replace(given.pack, held_out=POLICY),
        "artifacts": {name: sha256_of(name.encode()) for name in stage_artifacts({"held_out"})},
        "held_out_scan": scan,
        "holding": frozenset({"held_out"}),
        **changes,
    }


def test_manifest_of_a_run_with_a_policy_tells_the_scan() -> None:
    manifest: Any = made(**under_policy())
    assert manifest["held_out"] == {
        "contract_version": "1.0",
        "source": "tree/held_out.yaml",
        "evaluated": True,
        "policy": policy_summary(POLICY),
        "rows_scanned": 5,
        "rows_hit": 0,
        "rows_dropped": 0,
        "stage_four": stage_four(bindings(POLICY, 6), POLICY, 6).summary,
    }
    assert manifest["publication"]["published"]["held_out_evaluated"] is True
    assert manifest["bias_applicability"]["B7"]["status"] == "applicable"
    assert {"held_out_normalized", "held_out_bindings", "held_out_scan"} <= manifest["artifacts"].keys()


def test_manifest_refuses_a_policy_without_its_scan() -> None:
    with pytest.raises(ValueError, match=r"^a held-out policy whose rows were not scanned, or a scan without one$"):
        made(**under_policy(held_out_scan=None))


def test_manifest_refuses_held_out_artifacts_without_a_policy() -> None:
    with pytest.raises(ValueError, match=r"^artifacts differ from what the stages leave: held_out_bindings, held_out"):
        made(artifacts=under_policy()["artifacts"])


def test_manifest_refuses_artifacts_other_than_the_stages_leave() -> None:
    artifacts = {**given_inputs().artifacts, "balanced_tasks": sha256_of(b"")}
    del artifacts["task_instances"]
    with pytest.raises(ValueError, match=r"^artifacts differ from what the stages leave: balanced_tasks, task_inst"):
        made(artifacts=artifacts)


def test_manifest_refuses_tables_that_contradict_the_decisions() -> None:
    with pytest.raises(ValueError, match=r"^tables hold 5 and 5 rows, decisions count 5 and 4$"):
        made(published=RAW)


def test_run_id_joins_experiment_moment_prompt_and_token() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    assert run_id("demo", moment, "sha256:0123456789abcdef", "f" * 32) == (
        "demo-20260102T030405678901Z-0123456789ab-ffffffffffffffffffffffffffffffff"
    )
