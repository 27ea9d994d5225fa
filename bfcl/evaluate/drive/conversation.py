"""What has a candidate been shown so far, and had it earned every word of it? Rule: evaluation.md §6.

Four things enter a prompt, each by its own method and under its own tag; there is no other way in. Before a send the
whole of it is derived once more from the evidence, and anything else that stands there ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bfcl.canonical import Json, canonical_text
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.drive.continuation import Continuation
from bfcl.evaluate.records import Execution, Script, TurnEvidence
from bfcl.modelio.chat_request import ANSWER_KEY
from bfcl.modelio.exchange import ChatResponse, ToolCall

LEAK: Final = "eval_conversation_answer_key_leak"

ANSWER_KEYS: Final = ANSWER_KEY | {"slots", "slots_initial", "slot_updates"}
"""Fields of rows and tasks that never stand in a message, at any depth."""

Provenance = Literal["seed", "candidate", "result", "user"]

_KEYS: Final[Mapping[Provenance, frozenset[str]]] = {
    "seed": frozenset({"role", "content"}),
    "candidate": frozenset({"role", "content", "tool_calls"}),
    "result": frozenset({"role", "tool_call_id", "content"}),
    "user": frozenset({"role", "content"}),
}
_KINDS: Final[Mapping[Provenance, str]] = {
    "seed": "a message of the seed",
    "candidate": "the candidate's own turn",
    "result": "a tool result",
    "user": "a user message",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message of a prompt and where it came from."""

    provenance: Provenance
    message: Mapping[str, Json]


class Conversation:
    """The prompt of one episode. `echoes` names the field of the candidate's own message that goes back with it."""

    def __init__(self, script: Script, *, echoes: str | None = None) -> None:
        self._script = script
        self._echoes = echoes
        self._entries = [Entry(provenance="seed", message=message) for message in script.seed_messages]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All messages in order."""
        return tuple(self._entries)

    def answered(self, response: ChatResponse, reasoning: Json = None) -> None:
        """The candidate's own turn, with the field it is to get back where it has sent one."""
        message = own_turn(response)
        if self._echoes is not None and reasoning is not None:
            message[self._echoes] = reasoning
        self._entries.append(Entry(provenance="candidate", message=message))

    def released(self, calls: Sequence[ToolCall], texts: Sequence[str]) -> None:
        """The results of the candidate's last calls, in its order."""
        self._entries += [
            Entry(provenance="result", message=_result(call, text)) for call, text in zip(calls, texts, strict=True)
        ]

    def heard(self, text: str) -> None:
        """The user's next scripted message."""
        self._entries.append(Entry(provenance="user", message=_user(text)))

    def messages(self, turns: Sequence[TurnEvidence], route: Continuation) -> list[Mapping[str, Json]]:
        """The messages to send next, audited against the turns played so far, which `route` walks from its start.

        Raises: EvalError `eval_conversation_answer_key_leak`.
        """
        expected = [*_earned(self._script, turns, route)]
        problems = [
            self._leak(f"message {place} {fault}")
            for place, entry in enumerate(self._entries)
            for fault in self._faults(entry, expected[place] if place < len(expected) else None)
        ]
        if len(self._entries) < len(expected):
            wanted = _KINDS[expected[len(self._entries)].provenance]
            problems.append(self._leak(f"message {len(self._entries)} is absent, expected {wanted}"))
        if problems:
            raise EvalError(problems)
        return [entry.message for entry in self._entries]

    def _faults(self, entry: Entry, expected: Entry | None) -> Iterator[str]:
        # What a candidate itself writes is no leak, whatever it calls the fields of its content.
        for key in sorted(_answer_keys(entry.message)) if entry.provenance != "candidate" else ():
            yield f"carries the answer key field `{key}`"
        if expected is None:
            yield f"is {_KINDS[entry.provenance]} that no turn has released"
            return
        allowed = set(_KEYS[entry.provenance])
        told = dict(entry.message)
        if entry.provenance == "candidate" and self._echoes is not None:
            told.pop(self._echoes, None)
        for key in sorted(told.keys() - allowed):
            yield f"has the field `{key}`, which no such message has"
        if entry.provenance != expected.provenance or told != expected.message:
            yield f"is not {_KINDS[expected.provenance]} as it was earned"

    def _leak(self, message: str) -> Problem:
        fix = "discard this run and report it: a candidate was about to see what it had not earned"
        return Problem(code=LEAK, message=message, subject=self._script.task_id, fix=fix)


def own_turn(response: ChatResponse) -> dict[str, Json]:
    """A reply as the message that goes back: raw argument texts, its own ids, content only where it is not null."""
    message: dict[str, Json] = {"role": "assistant"}
    if response.assistant_content is not None:
        message["content"] = response.assistant_content
    if response.tool_calls:
        message["tool_calls"] = [_own_call(call) for call in response.tool_calls]
    return message


def _own_call(call: ToolCall) -> dict[str, Json]:
    function: dict[str, Json] = {"name": call.function_name}
    if call.arguments_status != "missing":
        function["arguments"] = call.raw_arguments
    marks = {name: value for name, value in (("id", call.id), ("type", call.type)) if value is not None}
    return {**marks, "function": function}


def given_back(execution: Execution) -> str:
    """What a candidate that finds its own way gets for one call: the live result, or why nothing ran."""
    if execution.result is not None:
        return execution.result
    return canonical_text({"error": {"code": execution.reason or execution.status}})


def _result(call: ToolCall, text: str) -> Mapping[str, Json]:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def _user(text: str) -> Mapping[str, Json]:
    return {"role": "user", "content": text}


def _earned(script: Script, turns: Sequence[TurnEvidence], route: Continuation) -> Iterator[Entry]:
    """What the evidence entitles a candidate to see; ends at the first turn that nothing follows."""
    yield from (Entry(provenance="seed", message=message) for message in script.seed_messages)
    for turn in turns:
        if turn.response is None:
            return
        step = route.follow(turn)
        if step.status is not None:
            return
        yield Entry(provenance="candidate", message=own_turn(turn.response))
        for call, text in zip(turn.response.tool_calls, _results(turn, live=route.live), strict=False):
            yield Entry(provenance="result", message=_result(call, text))
        if step.user is not None:
            yield Entry(provenance="user", message=_user(step.user))


def _results(turn: TurnEvidence, *, live: bool) -> Iterator[str]:
    """The result texts of a turn by its evidence: what ran, else what is recorded of the gold calls claimed."""
    if live:
        yield from map(given_back, turn.executions)
    elif turn.executions:
        yield from (execution.result for execution in turn.executions if execution.result is not None)
    else:
        recorded = {call.index: call.recorded_result for call in turn.gold}
        yield from (recorded[match.gold_index] for match in turn.matches if match.gold_index is not None)


def _answer_keys(value: Json) -> set[str]:
    """Fields, at any depth, that hold what a candidate is to find out. Texts are not looked into."""
    if isinstance(value, Mapping):
        return {key for key in value if key in ANSWER_KEYS}.union(*map(_answer_keys, value.values()))
    if isinstance(value, list | tuple):
        return {key for one in value for key in _answer_keys(one)}
    return set()
