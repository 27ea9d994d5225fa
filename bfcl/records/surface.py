"""The wording of one conversation, with the guards it violated. Rule: generation.md §3.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json
from bfcl.records.ids import TaskId

Guard: TypeAlias = Literal[
    "must_preserve", "must_omit", "must_not_mention", "semantic_shape", "novel_literal", "expected_result_leakage"
]
ViolationKey: TypeAlias = Literal["slot", "tool", "phrase", "reason"]
VIOLATION_KEYS: Final[tuple[ViolationKey, ...]] = ("slot", "tool", "phrase", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A user turn or assistant text with `content`, or a batch of calls with `call_group`."""

    kind: Literal["user", "assistant_text", "calls"]
    content: str | None = None
    call_group: int | None = None

    def to_json(self) -> dict[str, Json]:
        if self.kind == "calls":
            return {"kind": self.kind, "call_group": self.call_group}
        return {"kind": self.kind, "content": self.content}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One guard broken: `key` says what `value` names.

    The last three guards watch over model wording only. Their `value` is a reason, never text: what a model made up
    or gave away is kept nowhere. Rule: generation.md §3.6, §4.3.
    """

    guard: Guard
    key: ViolationKey
    value: str

    def to_json(self) -> dict[str, Json]:
        return {"guard": self.guard, self.key: self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A row of `rendered_conversations`."""

    task_id: TaskId
    base_task_id: TaskId
    variant_index: int
    source: Literal["template", "model"]
    language: str
    system_prompt_id: str
    paraphrase_model: str | None
    paraphrase_model_canonical: str | None
    profile_hash: str | None
    num_user_turns: int
    accepted: bool
    guard_violations: tuple[Violation, ...]
    turns: tuple[Turn, ...]
