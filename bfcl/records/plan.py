"""The order of a conversation: what a template prescribes, what each task publishes. Rule: generation.md §3.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bfcl.canonical import Json
from bfcl.records.ids import TaskId, TemplateId


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the conversation. `milestones` and `entry` point back into the template; they are not published."""

    kind: Literal["user", "text", "calls"]
    source: Literal["first_turn", "simulator"] | None = None
    """User steps only."""
    milestone_type: str | None = None
    """Text steps only."""
    call_group: int | None = None
    """Call steps only: published number, 0.. in conversation order."""
    update_index: int | None = None
    """User steps that deliver corrections: 0.. in delivery order, an index into `Task.slot_updates`."""
    tools: tuple[str, ...] = ()
    """Call steps only: tool names in order."""
    milestones: tuple[int, ...] = ()
    """Indexes into `assistant_milestones`: one for a text step, the batch for a calls step."""
    entry: int | None = None
    """Index into `user_simulator_turns` for a simulator step."""

    def to_json(self) -> dict[str, Json]:
        """`kind` plus the keys that apply to it."""
        published: dict[str, Json] = {"kind": self.kind}
        for key in ("source", "milestone_type", "call_group", "update_index"):
            value = getattr(self, key)
            if value is not None:
                published[key] = value
        if self.kind == "calls":
            published["tools"] = self.tools
        return published


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The conversation order of one template, the same for all its tasks."""

    template_id: TemplateId
    turn_policy: str
    steps: tuple[Step, ...]
    has_user_confirmation: bool
    confirmed_groups: frozenset[int]
    """Published call groups that a user confirmation covers."""
    has_slot_correction: bool

    @property
    def num_user_turns(self) -> int:
        return sum(step.kind == "user" for step in self.steps)

    @property
    def num_tool_calls(self) -> int:
        return sum(len(step.tools) for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A row of `conversation_plans`."""

    task_id: TaskId
    template_id: TemplateId
    turn_policy: str
    num_user_turns: int
    num_tool_calls: int
    is_multi_turn: bool
    has_user_confirmation: bool
    has_slot_correction: bool
    steps: tuple[dict[str, Json], ...]
    """Published form of each step."""
