"""What does an assertion see as `task` when a candidate was asked? Rule: evaluation.md §7, pack.md §9.

All that it saw in generation, under the same names, and what only a published row has beside it.
"""

from __future__ import annotations

from bfcl.canonical import Json
from bfcl.evaluate.drive.slots import Unrecovered, unresolved
from bfcl.exports.row import ExportRow
from bfcl.records.task import Task
from bfcl.records.template import Template


def task_view(row: ExportRow, template: Template, bound: Task | Unrecovered) -> dict[str, Json]:
    """The row's fields, its template's, the expected calls and the slots; these are absent where they are unknown."""
    published = row.published
    return {
        "task_id": row.task_id,
        "base_task_id": row.metadata["base_task_id"],
        "variant_index": published["variant_index"],
        "template_id": published["template_id"],
        "pack_id": published["pack_id"],
        "pack_version": published["pack_version"],
        "intent": published["intent"],
        "category": published["category"],
        "difficulty": published["difficulty"],
        "turn_policy": published["turn_policy"],
        "language": row.metadata["language"],
        "call_order": published["call_order"],
        "call_order_prefix": published["call_order_prefix"],
        "required_tools": list(published["required_tools"]),
        "tools_present": list(published["tools_present"]),
        "success_assertions": list(published["success_assertions"]),
        "edge_signatures": list(template.edge_signatures),
        "mutates": template.mutates,
        "seed": published["seed"],
        "fixture_refs": list(published["fixture_refs"]),
        "is_multi_turn": published["is_multi_turn"],
        "num_tool_calls": published["num_tool_calls"],
        "expected_tool_calls": [call.to_json() for call in row.calls],
        **_slots(bound),
        **unresolved(bound),
    }


def _slots(bound: Task | Unrecovered) -> dict[str, Json]:
    if isinstance(bound, Unrecovered):
        return {}
    return {
        "slots": dict(bound.slots),
        "slots_initial": dict(bound.slots_initial),
        "slot_updates": [delivery.to_json() for delivery in bound.slot_updates],
    }
