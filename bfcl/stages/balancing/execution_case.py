"""Which tasks do the same thing with the same values, and which exercise the same tools in the same way?

Rule: generation.md §3.8.2, §3.8.4. Both are SHA-256 of canonical JSON, 64 hex digits.
"""

from __future__ import annotations

from bfcl.canonical import canonical_json
from bfcl.digest import sha256_hex
from bfcl.records.plan import Outline
from bfcl.records.task import Task


def execution_case(task: Task, outline: Outline) -> str:
    """What the task does, whatever it reads like: variants of one wording share it, other values never do."""
    return sha256_hex(
        canonical_json(
            {
                "intent": task.intent,
                "category": task.category,
                "slots_initial": task.slots_initial,
                "slots": task.slots,
                "slot_updates": [delivery.to_json() for delivery in task.slot_updates],
                "fixture_refs": task.fixture_refs,
                "required_tools": task.required_tools,
                "tools_present": task.tools_present,
                "success_assertions": task.success_assertions,
                "turn_policy": task.turn_policy,
                "call_order": task.call_order,
                "call_order_prefix": task.call_order_prefix,
                "num_tool_calls": outline.num_tool_calls,
                "has_user_confirmation": outline.has_user_confirmation,
                "confirmed_call_turns": confirmed_call_turns(outline),
                "edge_signatures": task.edge_signatures,
            }
        )
    )


def confirmed_call_turns(outline: Outline) -> tuple[int, ...]:
    """Ordinals, among all assistant messages, of those whose calls a user confirmation covers: their `turn_index`."""
    assistant = [step for step in outline.steps if step.kind != "user"]
    return tuple(
        turn
        for turn, step in enumerate(assistant)
        if step.kind == "calls" and step.call_group in outline.confirmed_groups
    )


def capability_signature(task: Task) -> str:
    """What the task exercises: its tools, what is asserted, whether it changes anything, the order of its calls."""
    return sha256_hex(
        canonical_json(
            {
                "required_tools": sorted(task.required_tools),
                "tools_present": sorted(task.tools_present),
                "success_assertions": sorted(task.success_assertions),
                "mutates": task.mutates,
                "call_order": task.call_order,
                "call_order_prefix": task.call_order_prefix,
            }
        )
    )
