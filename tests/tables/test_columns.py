"""The columns of the stage tables, word for word as generation.md §3 lists them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bfcl.tables.columns import COLUMNS

LISTED = {
    "reference_samples": "sample_id s, language s, messages j, tags [s], source_hash s",
    "task_instances": (
        "task_id s, base_task_id s, template_id s, pack_id s, pack_version s, intent s, category s, difficulty s,"
        " turn_policy s, call_order s, call_order_prefix i, variant_index i, seed u, mutates b, required_tools [s],"
        " tools_present [s], success_assertions [s], edge_signatures [s], fixture_refs [s], slots j, slots_initial j,"
        " slot_updates j"
    ),
    "conversation_plans": (
        "task_id s, template_id s, turn_policy s, num_user_turns i, num_tool_calls i, is_multi_turn b,"
        " has_user_confirmation b, has_slot_correction b, steps j"
    ),
    "rendered_conversations": (
        "task_id s, base_task_id s, variant_index i, source s, language s, system_prompt_id s, paraphrase_model s,"
        " paraphrase_model_canonical s, profile_hash s, num_user_turns i, accepted b, guard_violations j, turns j"
    ),
    "expected_traces": (
        "task_id s, template_id s, turn_policy s, derived b, drop_reason s, num_tool_calls i, expected_tool_calls j"
    ),
    "schema_validated_traces": "task_id s, template_id s, valid b, reject_reason s, failure_count i, failures j",
    "replay_validated_tasks": (
        "task_id s, template_id s, valid b, reason s, detail s, num_tool_results i, tool_results j, assertions j"
    ),
    "surface_validated_tasks": (
        "task_id s, base_task_id s, template_id s, variant_index i, surface_source s, turn_policy s,"
        " contract_version s, accepted b, decision s, drop_source s, drop_reasons [s], advisory_failures [s],"
        " judge_error s, surface_shape_status s, semantic_preservation_status s, leakage_status s,"
        " language_locale_status s, fluency_naturalness_status s, clarity_coherence_status s, checks j"
    ),
    "balanced_tasks": (
        "task_id s, contract_version s, selected b, is_duplicate b, duplicate_cluster_id s, representative_task_id s,"
        " drop_reason s, balance_dimension s, selection_rank i, curator_cluster_id s, curator_is_duplicate b,"
        " curator_predecessor_id s, curator_similarity_score f, text_hash s, capability_signature s, language s,"
        " edge_signatures [s], intent s, category s, required_tools s, tools_present s, difficulty s, turn_class s,"
        " tool_call_count s, turn_policy s, num_turns i, num_tool_calls i, coverage_locked b, representative_rank s"
    ),
}


@pytest.mark.parametrize("artifact", LISTED)
def test_columns_equal_the_listed_schema(artifact: str) -> None:
    assert ", ".join(f"{name} {kind}" for name, kind in COLUMNS[artifact]) == LISTED[artifact]


def test_columns_cover_exactly_the_listed_tables() -> None:
    assert list(COLUMNS) == list(LISTED)


def test_columns_and_codec_load_without_arrow() -> None:
    script = "import sys, bfcl.tables.columns, bfcl.tables.codec, bfcl.tables.parquet; print('pyarrow' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert shown.stdout == "False\n"
