"""The wording of one conversation, with the guards it violated. Rule: generation.md §3.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bfcl.canonical import Json
from bfcl.records.ids import TaskId


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
    """One guard broken: `key` is `slot`, `tool` or `phrase`, `value` its name."""

    guard: Literal["must_preserve", "must_omit", "must_not_mention"]
    key: Literal["slot", "tool", "phrase"]
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
