"""Scripts of valves, and what the real driver and scorer make of a play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bfcl.canonical import Json, canonical_text
from bfcl.digest import sha256_json
from bfcl.evaluate.records import GoldCall, Script, ScriptTurn
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.scripted.candidate import completion
from bfcl.evaluate.scripted.said import Play
from tests.evaluate import driven

READ = driven.tool(
    "read_valve",
    {
        "type": "object",
        "properties": {"valve": {"type": "string"}},
        "required": ["valve"],
        "additionalProperties": False,
    },
)
SET = driven.tool(
    "set_valve",
    {
        "type": "object",
        "properties": {
            "valve": {"type": "string"},
            "bar": {"type": "integer", "minimum": 0, "maximum": 9},
            "unit": {"type": "string", "enum": ["bar", "psi"], "default": "bar"},
            "pace": {"type": "integer", "default": 3, "maximum": 4},
            "confirm": {"type": "boolean", "default": False},
        },
        "required": ["valve", "bar", "unit"],
        "additionalProperties": False,
    },
)
ALARMS = driven.tool("list_alarms", {"type": "object", "properties": {}})
TOOLS = (READ, SET, ALARMS)

Turn = Sequence[tuple[str, dict[str, Json]]] | str | tuple[str, str]
"""Calls, or words, or words and what the user says to them."""


def script(
    *turns: Turn, order: Literal["strict", "any"] = "strict", tools: Sequence[Mapping[str, Json]] = TOOLS
) -> Script:
    """A script of these turns; results are `{"answer": <number of the call>}`."""
    made: list[ScriptTurn] = []
    number = 0
    for index, turn in enumerate(turns):
        calls: list[GoldCall] = []
        text = user = None
        if isinstance(turn, str):
            text = turn
        elif isinstance(turn, tuple):
            text, user = turn
        else:
            for name, arguments in turn:
                result = canonical_text({"answer": number})
                calls.append(GoldCall(index=number, tool=name, arguments=arguments, recorded_result=result))
                number += 1
        last = index == len(turns) - 1
        made.append(ScriptTurn(index=index, calls=tuple(calls), text=text, user_after=user, terminal=last))
    return replace(
        driven.script(),
        turns=tuple(made),
        tools=tuple(tools),
        call_order=order,
        required_tools=(),
        script_hash=sha256_json([repr(turn) for turn in made]),
    )


def read(valve: str = "V-1") -> tuple[str, dict[str, Json]]:
    return "read_valve", {"valve": valve}


def set_(**edits: Json) -> tuple[str, dict[str, Json]]:
    return "set_valve", {"valve": "V-1", "bar": 4, "unit": "bar", **edits}


def wire(play: Play, turn: int) -> driven.Message:
    """A reply of a play as a message, with its finish reason."""
    told = completion("m", [{"role": "user", "content": str(turn)}], [], play[turn])
    choices = told["choices"]
    assert isinstance(choices, list)
    return {**choices[0]["message"], "finish_reason": choices[0]["finish_reason"]}


def outcome(of: Script, play: Play) -> tuple[str, list[str]]:
    """Episode status and the gates that fail."""
    client = driven.Answering(lambda request: wire(play, request.turn_index))
    evidence = driven.play(of, client)
    score = score_episode(of, evidence, driven.SCORING)
    return evidence.status, [gate.name for gate in score.gates if gate.outcome == "failed"]
