"""Where in a published conversation does each expected call lie? Rule: generation.md §6.1, §7.

One walk over the messages holds the wire calls against the expected ones: same order, names and argument text, one
group to an assistant message, every answer directly after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bfcl.canonical import Json, canonical_text
from bfcl.exports.row import CallGroup, ExportCall
from bfcl.tables.benchmark import Message, WireCall


class Layout(NamedTuple):
    """A conversation in chat protocol form, and its call groups in order."""

    messages: tuple[Mapping[str, Json], ...]
    groups: tuple[CallGroup, ...]


class LayoutFault(Exception):
    """Messages and expected calls do not belong together; the text says where."""


def read_layout(messages: Sequence[Message], calls: Sequence[ExportCall]) -> Layout:
    """Walk a conversation. Raises: LayoutFault at the first message that does not fit."""
    walk = _Walk(calls)
    wire = tuple(walk.step(index, message) for index, message in enumerate(messages))
    walk.end()
    return Layout(wire, tuple(walk.groups))


class _Walk:
    def __init__(self, calls: Sequence[ExportCall]) -> None:
        self._calls = calls
        self._next = 0
        self._user_turn = -1
        self._assistant_turn = 0
        self._unanswered: list[str] = []
        self.groups: list[CallGroup] = []

    def step(self, index: int, message: Message) -> Mapping[str, Json]:
        """The message in chat protocol form."""
        role, place = message["role"], f"message {index}"
        self._check_place(index, role)
        if role == "tool":
            return self._answer(place, message)
        if self._unanswered:
            raise LayoutFault(f"{place} has role {role}, expected the answer to {self._unanswered[0]}")
        if message["tool_call_id"] is not None:
            raise LayoutFault(f"{place} has role {role} and a tool_call_id")
        if message["tool_calls"] is not None:
            return self._batch(place, message, message["tool_calls"])
        if message["content"] is None:
            raise LayoutFault(f"{place} has neither content nor tool calls")
        if role == "user":
            self._user_turn += 1
        elif role == "assistant":
            self._assistant_turn += 1
        return {"role": role, "content": message["content"]}

    def end(self) -> None:
        """Nothing may be left over."""
        if self._unanswered:
            raise LayoutFault(f"the conversation ends without the answer to {self._unanswered[0]}")
        if self._user_turn < 0:
            raise LayoutFault("the conversation has no user message")
        if self._next < len(self._calls):
            raise LayoutFault(f"the conversation ends before expected call {self._next}")

    def _check_place(self, index: int, role: str) -> None:
        wanted = {0: "system", 1: "user"}.get(index)
        if wanted is not None and role != wanted:
            raise LayoutFault(f"message {index} has role {role}, expected {wanted}")
        if index > 1 and role not in ("user", "assistant", "tool"):
            raise LayoutFault(f"message {index} has role {role}, expected user, assistant or tool")

    def _answer(self, place: str, message: Message) -> Mapping[str, Json]:
        wanted = self._unanswered.pop(0) if self._unanswered else None
        if wanted is None or message["tool_call_id"] != wanted:
            expected = "no answer" if wanted is None else f"the answer to {wanted}"
            raise LayoutFault(f"{place} answers {message['tool_call_id']}, expected {expected}")
        if message["content"] is None or message["tool_calls"] is not None:
            raise LayoutFault(f"{place} answers {wanted} without content or with calls of its own")
        return {"role": "tool", "content": message["content"], "tool_call_id": wanted}

    def _batch(self, place: str, message: Message, wire: Sequence[WireCall]) -> Mapping[str, Json]:
        if message["role"] != "assistant" or message["content"] is not None or not wire:
            raise LayoutFault(f"{place} has role {message['role']} and mixes text with calls, or has no call")
        first = self._next
        for position, call in enumerate(wire):
            self._check_call(place, call, position)
            self._unanswered.append(call["id"])
            self._next += 1
        group = len(self.groups)
        if self._next < len(self._calls) and self._calls[self._next].call_group == group:
            raise LayoutFault(f"{place} ends before expected call {self._next}, which is of its group {group}")
        self.groups.append(
            CallGroup(
                turn_index=self._assistant_turn,
                call_group=group,
                user_turn_index=self._user_turn,
                calls=tuple(range(first, self._next)),
            )
        )
        self._assistant_turn += 1
        return {"role": "assistant", "content": None, "tool_calls": [_wire(call) for call in wire]}

    def _check_call(self, place: str, wire: WireCall, position: int) -> None:
        number = self._next
        if number == len(self._calls):
            raise LayoutFault(f"{place} makes call {number}, only {number} are expected")
        call = self._calls[number]
        if (wire["id"], wire["type"]) != (f"call_{number}", "function"):
            raise LayoutFault(f"{place} makes {wire['type']} {wire['id']}, expected function call_{number}")
        lies = (self._assistant_turn, len(self.groups), position)
        expected = (call.turn_index, call.call_group, call.position_in_group)
        if lies != expected:
            raise LayoutFault(
                f"{place} makes call_{number} as turn {lies[0]}, group {lies[1]}, position {lies[2]}; "
                f"expected turn {expected[0]}, group {expected[1]}, position {expected[2]}"
            )
        if wire["function"]["name"] != call.function_name:
            raise LayoutFault(f"{place} calls {wire['function']['name']}, expected {call.function_name}")
        if wire["function"]["arguments"] != canonical_text(call.arguments):
            raise LayoutFault(f"{place} makes call_{number} with other arguments than expected")


def _wire(call: WireCall) -> Mapping[str, Json]:
    function = call["function"]
    return {
        "id": call["id"],
        "type": call["type"],
        "function": {"name": function["name"], "arguments": function["arguments"]},
    }
