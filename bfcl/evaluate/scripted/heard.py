"""What does a conversation hold that was sent: its seed, its tools, and what was said since? Rule: evaluation.md §5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.modelio.chat_reply import strict_json

Message: TypeAlias = Mapping[str, Json]
Mark: TypeAlias = tuple[str, str]
"""Role of a message, and in one text all of it that means something."""

_SYSTEM: Final = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A conversation by what its messages mean, so that ids and spelling of a client do not matter."""

    seed: tuple[Mark, ...]
    """Leading system messages and the first user message."""
    said: tuple[Mark, ...]
    """Every message behind the seed."""

    @property
    def replies(self) -> int:
        """How often the candidate has spoken."""
        return sum(role == "assistant" for role, _ in self.said)

    @property
    def from_user(self) -> list[str]:
        """What the user has said since the seed."""
        return [text for role, text in self.said if role == "user"]


def heard(messages: Sequence[Message]) -> Heard:
    """Take a conversation in."""
    start = seeded(messages)
    marks = [mark(message) for message in messages]
    return Heard(seed=tuple(marks[:start]), said=tuple(marks[start:]))


def seeded(messages: Sequence[Message]) -> int:
    """How many messages the seed has: all there are where no user has spoken yet."""
    for place, message in enumerate(messages):
        if message.get("role") not in _SYSTEM:
            return place + 1
    return len(messages)


def mark(message: Message) -> Mark:
    """A message by its meaning: JSON in one spelling, parts of a text joined, ids left out."""
    role = message.get("role")
    text = text_of(message.get("content"))
    match role:
        case "assistant":
            return "assistant", canonical_text([text, [call_meaning(one) for one in wire_calls(message)]])
        case "tool":
            return "tool", spelt(text)
        case "system" | "developer":
            return "system", text
        case _:
            return str(role), text


def text_of(content: Json) -> str:
    """The words of a message's content: a text, or a list of parts with text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "".join(_part(part) for part in content)
    return ""


def wire_calls(message: Message) -> Iterator[Mapping[str, Json]]:
    """The calls of an assistant message."""
    calls = message.get("tool_calls")
    yield from (call for call in (calls if isinstance(calls, list | tuple) else ()) if isinstance(call, Mapping))


def call_meaning(call: Mapping[str, Json]) -> tuple[str, str]:
    """Name and arguments of a call on the wire; arguments as canonical JSON where they are any."""
    function = call.get("function")
    if not isinstance(function, Mapping):
        return "", ""
    arguments = function.get("arguments")
    return str(function.get("name")), spelt(arguments) if isinstance(arguments, str) else canonical_text(arguments)


def spelt(text: str) -> str:
    """A JSON text in canonical spelling, any other as it is."""
    try:
        return canonical_text(strict_json(text))
    except ValueError:
        return text


def _part(part: Json) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""
