"""Names of things, kept apart by the type checker, and the closed vocabularies of the contract."""

from __future__ import annotations

from typing import Final, Literal, NewType, TypeAlias

TaskId = NewType("TaskId", str)
TemplateId = NewType("TemplateId", str)

TurnPolicy: TypeAlias = Literal[
    "single_turn",
    "multi_tool",
    "missing_slot",
    "confirmation",
    "correction",
    "dependent_call",
    "negative_path",
    "clarify_only",
    "irrelevant",
]
TURN_POLICIES: tuple[TurnPolicy, ...] = (
    "single_turn",
    "multi_tool",
    "missing_slot",
    "confirmation",
    "correction",
    "dependent_call",
    "negative_path",
    "clarify_only",
    "irrelevant",
)

CALL_ORDERS = ("strict", "any", "prefix")
TEXT_MILESTONES = ("ask_for_slot", "ask_confirm", "decline", "final_answer")
MILESTONES = ("tool_call", *TEXT_MILESTONES)
RunStage: TypeAlias = Literal["prepare", "generate", "translate", "eval", "all"]
"""What a configuration is meant for, or what a command amounts to."""

GENERATING: Final[frozenset[RunStage]] = frozenset({"generate", "all"})
"""The commands that make a release, and so refuse settings that nothing honours."""

Tier: TypeAlias = Literal["gold", "silver", "prototype"]
