"""One bound instance of a template. Rule: generation.md §3.1, §3.9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bfcl.canonical import Json
from bfcl.records.ids import TaskId, TemplateId


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDelivery:
    """The values one simulator turn puts in force, and their surface aliases."""

    entry_index: int
    """Position in `user_simulator_turns` as declared."""
    values: Mapping[str, Json]
    aliases: Mapping[str, Json]
    """`bind_as` name to value."""

    def to_json(self) -> dict[str, Json]:
        return {"entry_index": self.entry_index, "values": self.values, "aliases": self.aliases}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A row of `task_instances`: fields carry that table's column names."""

    task_id: TaskId
    base_task_id: TaskId
    template_id: TemplateId
    pack_id: str
    pack_version: str
    intent: str | None
    category: str
    difficulty: str | None
    turn_policy: str
    call_order: str
    call_order_prefix: int | None
    variant_index: int
    seed: int
    """Unsigned 64-bit."""
    mutates: bool
    required_tools: tuple[str, ...]
    tools_present: tuple[str, ...]
    success_assertions: tuple[str, ...]
    edge_signatures: tuple[str, ...]
    fixture_refs: tuple[str, ...]
    """Sorted, distinct canonical JSON `["COLL","<id>"]`."""
    slots: Mapping[str, Json]
    """Values in force at the end, by slot; under `<slot>.<field>` what an argument takes from a slot's row."""
    slots_initial: Mapping[str, Json]
    slot_updates: tuple[SlotDelivery, ...]
    """Delivery order."""
