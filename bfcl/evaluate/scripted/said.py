"""What does a scripted candidate say in one turn, before it has an id or stands on a wire?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.records import GoldCall, Script, ScriptTurn

AFTERWARDS: Final = "I have nothing to add."
"""Said once a play is over, which happens where a conversation goes on behind a departure from its script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One call. `arguments` is what stands on the wire: a text, but for behaviours that break just that."""

    name: str
    arguments: Json
    id: Literal["own", "shared", "none"] = "own"
    """`shared`: one id for all such calls of a reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One reply: words, calls, or nothing at all."""

    content: str | None = None
    calls: tuple[Made, ...] = ()
    cut: bool = False
    """Whether it says of itself that it was cut off."""

    @property
    def finish_reason(self) -> str:
        if self.cut:
            return "length"
        return "tool_calls" if self.calls else "stop"


Play: TypeAlias = tuple[Said, ...]
"""Every reply to one conversation, in order."""


def made(name: str, arguments: Mapping[str, Json]) -> Made:
    """A call as the protocol wants it."""
    return Made(name=name, arguments=canonical_text(arguments))


def expected(call: GoldCall) -> Made:
    """The call that a gold call asks for."""
    return made(call.tool, call.arguments)


def as_expected(turn: ScriptTurn) -> Said:
    """What a turn asks for."""
    return Said(content=turn.text, calls=tuple(map(expected, turn.calls)))


def gold_play(script: Script) -> Play:
    """Every turn as its script asks for it."""
    return tuple(map(as_expected, script.turns))
