"""Which columns does each stage table have, in which order, of which type? Rule: generation.md §3.

Plain data, so that whoever only asks for names never loads Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["s", "i", "u", "b", "f", "[s]", "j"]
"""Text, int32, uint64, bool, float64, list of text, text holding canonical JSON."""

Columns: TypeAlias = tuple[tuple[str, Kind], ...]

COLUMNS: Mapping[str, Columns] = {
    "reference_samples": (
        ("sample_id", "s"),
        ("language", "s"),
        ("messages", "j"),
        ("tags", "[s]"),
        ("source_hash", "s"),
    ),
    "task_instances": (
        ("task_id", "s"),
        ("base_task_id", "s"),
        ("template_id", "s"),
        ("pack_id", "s"),
        ("pack_version", "s"),
        ("intent", "s"),
        ("category", "s"),
        ("difficulty", "s"),
        ("turn_policy", "s"),
        ("call_order", "s"),
        ("call_order_prefix", "i"),
        ("variant_index", "i"),
        ("seed", "u"),
        ("mutates", "b"),
        ("required_tools", "[s]"),
        ("tools_present", "[s]"),
        ("success_assertions", "[s]"),
        ("edge_signatures", "[s]"),
        ("fixture_refs", "[s]"),
        ("slots", "j"),
        ("slots_initial", "j"),
        ("slot_updates", "j"),
    ),
    "conversation_plans": (
        ("task_id", "s"),
        ("template_id", "s"),
        ("turn_policy", "s"),
        ("num_user_turns", "i"),
        ("num_tool_calls", "i"),
        ("is_multi_turn", "b"),
        ("has_user_confirmation", "b"),
        ("has_slot_correction", "b"),
        ("steps", "j"),
    ),
    "rendered_conversations": (
        ("task_id", "s"),
        ("base_task_id", "s"),
        ("variant_index", "i"),
        ("source", "s"),
        ("language", "s"),
        ("system_prompt_id", "s"),
        ("paraphrase_model", "s"),
        ("paraphrase_model_canonical", "s"),
        ("profile_hash", "s"),
        ("num_user_turns", "i"),
        ("accepted", "b"),
        ("guard_violations", "j"),
        ("turns", "j"),
    ),
    "expected_traces": (
        ("task_id", "s"),
        ("template_id", "s"),
        ("turn_policy", "s"),
        ("derived", "b"),
        ("drop_reason", "s"),
        ("num_tool_calls", "i"),
        ("expected_tool_calls", "j"),
    ),
    "schema_validated_traces": (
        ("task_id", "s"),
        ("template_id", "s"),
        ("valid", "b"),
        ("reject_reason", "s"),
        ("failure_count", "i"),
        ("failures", "j"),
    ),
    "replay_validated_tasks": (
        ("task_id", "s"),
        ("template_id", "s"),
        ("valid", "b"),
        ("reason", "s"),
        ("detail", "s"),
        ("num_tool_results", "i"),
        ("tool_results", "j"),
        ("assertions", "j"),
    ),
}
"""Artifact name (the file name without `.parquet`) to its columns."""
