"""What does a published row have a candidate go through? Every turn of it. Rule: evaluation.md §6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, cast

from bfcl.canonical import Json, canonical_text
from bfcl.digest import sha256_json
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.records import GoldCall, Script, ScriptTurn
from bfcl.exports.row import ExportCall, ExportRow

SCRIPT_INVALID: Final = "eval_conversation_script_invalid"

_ORDERS: Final = ("strict", "any", "prefix")


def read_script(row: ExportRow) -> Script:
    """The script of a row. Raises: EvalError with everything by which messages, calls and plan disagree."""
    faults = list(_order_faults(row))
    walk = _Walk(row)
    turns: tuple[ScriptTurn, ...] = ()
    try:
        turns = walk.turns()
    except _Fault as fault:
        faults.insert(0, str(fault))
    if faults:
        fix = "publish the benchmark anew; this row does not say what its conversation expects"
        raise EvalError(Problem(code=SCRIPT_INVALID, message=one, subject=row.task_id, fix=fix) for one in faults)
    published = row.published
    seed = row.messages[: walk.seeded]
    content: dict[str, Json] = {
        "task_id": row.task_id,
        "template_id": published["template_id"],
        "seed_messages": seed,
        "tools": row.tools,
        "turns": [_turn_json(turn) for turn in turns],
        "call_order": published["call_order"],
        "call_order_prefix": published["call_order_prefix"],
        "required_tools": published["required_tools"],
    }
    return Script(
        task_id=row.task_id,
        template_id=published["template_id"],
        seed_messages=seed,
        tools=row.tools,
        turns=turns,
        call_order=cast('Literal["strict", "any", "prefix"]', published["call_order"]),
        call_order_prefix=published["call_order_prefix"],
        required_tools=tuple(published["required_tools"]),
        script_hash=sha256_json(content),
    )


class _Fault(Exception):
    """The first place where a row does not project; the text says which."""


class _Walk:
    """Goes through the messages once: seed, then assistant turns, each with its answers and what it releases."""

    def __init__(self, row: ExportRow) -> None:
        self._row = row
        self._at = 0
        self._calls = 0
        self._groups = 0
        self.seeded = 0

    def turns(self) -> tuple[ScriptTurn, ...]:
        """The turns in order. Raises: _Fault."""
        while self._role() == "system":
            self._at += 1
        if self._role() != "user":
            raise _Fault("no user message follows the leading system messages")
        self._at += 1
        self.seeded = self._at
        found: list[ScriptTurn] = []
        while self._at < len(self._row.messages):
            found.append(self._turn(len(found)))
        if not found:
            raise _Fault("no assistant turn follows the first user message")
        if found[-1].user_after is not None:
            raise _Fault("the conversation ends with a user message, expected an assistant turn")
        if self._calls != len(self._row.calls):
            raise _Fault(f"the conversation makes {self._calls} calls, {len(self._row.calls)} are expected")
        return tuple(found)

    def _turn(self, index: int) -> ScriptTurn:
        message = self._row.messages[self._at]
        if message.get("role") != "assistant":
            raise _Fault(f"message {self._at} has role {message.get('role')}, expected an assistant turn")
        self._at += 1
        wire, text = message.get("tool_calls"), message.get("content")
        calls = self._group(index, wire) if isinstance(wire, list | tuple) and wire else ()
        if not calls and (not isinstance(text, str) or not text.strip()):
            raise _Fault(f"assistant turn {index} has neither calls nor words")
        return ScriptTurn(
            index=index,
            calls=calls,
            text=None if calls else cast("str", text),
            user_after=self._reply(),
            terminal=self._at == len(self._row.messages),
        )

    def _group(self, turn: int, wire: Sequence[Json]) -> tuple[GoldCall, ...]:
        """The calls of a turn with their answers, held against the expected calls and the places planned for them."""
        calls: list[GoldCall] = []
        for position, made in enumerate(wire):
            gold = self._expected((turn, self._groups, position), made)
            answer = self._row.messages[self._at] if self._at < len(self._row.messages) else {}
            calls.append(
                GoldCall(
                    index=self._calls,
                    tool=gold.function_name,
                    arguments=gold.arguments,
                    recorded_result=_answer(made, answer, self._calls),
                )
            )
            self._at += 1
            self._calls += 1
        self._groups += 1
        return tuple(calls)

    def _expected(self, lies: tuple[int, int, int], made: Json) -> ExportCall:
        """The expected call that a wire call stands for."""
        number, expected = self._calls, len(self._row.calls)
        if number == expected:
            raise _Fault(f"the conversation makes call {number}, {expected} are expected")
        gold = self._row.calls[number]
        planned = (gold.turn_index, gold.call_group, gold.position_in_group)
        if lies != planned:
            raise _Fault(f"call {number} lies at turn, group and position {lies}, planned at {planned}")
        function = made.get("function") if isinstance(made, Mapping) else None
        name, arguments = (
            (function.get("name"), function.get("arguments")) if isinstance(function, Mapping) else (None, None)
        )
        if name != gold.function_name:
            raise _Fault(f"call {number} is of {name}, expected {gold.function_name}")
        if arguments != canonical_text(gold.arguments):
            raise _Fault(f"call {number} has other arguments than the expected call")
        return gold

    def _reply(self) -> str | None:
        """The user message that stands here, or None."""
        if self._role() != "user":
            return None
        said = self._row.messages[self._at].get("content")
        if not isinstance(said, str):
            raise _Fault(f"message {self._at} is the user's and has no text")
        self._at += 1
        return said

    def _role(self) -> Json:
        messages = self._row.messages
        return messages[self._at].get("role") if self._at < len(messages) else None


def _answer(made: Json, answer: Mapping[str, Json], number: int) -> str:
    """The text of a call's result, which directly follows its group in the order of the calls."""
    wanted = made.get("id") if isinstance(made, Mapping) else None
    if answer.get("role") != "tool" or answer.get("tool_call_id") != wanted:
        raise _Fault(f"call {number} is not followed by its result")
    text = answer.get("content")
    if not isinstance(text, str):
        raise _Fault(f"the result of call {number} has no text")
    return text


def _order_faults(row: ExportRow) -> Iterator[str]:
    order, prefix = row.published["call_order"], row.published["call_order_prefix"]
    if order not in _ORDERS:
        yield f"call order is {order}, expected {', '.join(_ORDERS)}"
    if (prefix is not None) != (order == "prefix"):
        yield f"call order is {order} with a prefix of {prefix}; `prefix` alone has one"


def _turn_json(turn: ScriptTurn) -> dict[str, Json]:
    return {
        "calls": [
            {"tool": call.tool, "arguments": call.arguments, "recorded_result": call.recorded_result}
            for call in turn.calls
        ],
        "text": turn.text,
        "user_after": turn.user_after,
    }
