"""What do a template's milestones and simulated replies declare? Rule: pack.md §5.3, §5.4, §5.6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bfcl.records.template import Milestone, SimulatorTurn, SlotUpdate


def read_milestones(entry: Mapping[str, Any]) -> tuple[Milestone, ...]:
    """`assistant_milestones` of a template that conforms, in order; one without `id` is named `<type>@<index>`."""
    return tuple(
        Milestone(
            type=item["type"],
            id=f"{item['type']}@{index}" if item.get("id") is None else item["id"],
            tool=item.get("tool"),
            args=item.get("args") or {},
            call_group=item.get("call_group"),
            slot=item.get("slot"),
            content_template=item.get("content_template") or {},
        )
        for index, item in enumerate(entry["assistant_milestones"])
    )


def read_simulator_turns(entry: Mapping[str, Any]) -> tuple[SimulatorTurn, ...]:
    """`user_simulator_turns` as declared, each with its slot updates sorted by slot name."""
    return tuple(
        SimulatorTurn(
            after=item["after"],
            content_template=item["content_template"],
            slot_updates=tuple(
                SlotUpdate(slot=slot, source=one["source"], filter=one.get("filter"), bind_as=one.get("bind_as"))
                for slot, one in sorted((item.get("slot_updates") or {}).items())
            ),
        )
        for item in entry.get("user_simulator_turns") or ()
    )
