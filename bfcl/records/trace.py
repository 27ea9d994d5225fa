"""The calls a task expects. Rule: generation.md §3.4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bfcl.canonical import Json
from bfcl.records.ids import TaskId, TemplateId


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One expected call. `arguments` keeps the order in which they were derived."""

    turn_index: int
    """0-based ordinal of its assistant message among all assistant messages."""
    call_group: int
    position_in_group: int
    function_name: str
    arguments: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        return {
            "turn_index": self.turn_index,
            "call_group": self.call_group,
            "position_in_group": self.position_in_group,
            "function_name": self.function_name,
            "arguments": self.arguments,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A row of `expected_traces`. An underived trace has a `drop_reason` and no calls."""

    task_id: TaskId
    template_id: TemplateId
    turn_policy: str
    derived: bool
    drop_reason: str | None
    calls: tuple[Call, ...]
