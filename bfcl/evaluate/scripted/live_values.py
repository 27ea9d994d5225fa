"""Which values do later calls take out of results that differ from the recorded ones? Read as a model would read them.

A published row says what was called, not where a value came from. So a text or a number of a later call that stands in
an earlier recorded result is taken from the same place of the result that was really given back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.records import GoldCall, Script, ScriptTurn
from bfcl.evaluate.scripted.heard import Message, call_meaning, seeded, text_of, wire_calls
from bfcl.modelio.chat_reply import strict_json

Place: TypeAlias = tuple[str | int, ...]


def as_lived(script: Script, messages: Sequence[Message]) -> Script:
    """The script with the values of its later calls as the results in this conversation have them."""
    given = _given(messages)
    own = [message for message in messages[seeded(messages) :] if message.get("role") == "assistant"]
    pairs: list[tuple[Json, Json]] = []
    turns: list[ScriptTurn] = []
    for place, recorded in enumerate(script.turns):
        turn = dataclasses.replace(recorded, calls=tuple(_reread(call, pairs) for call in recorded.calls))
        turns.append(turn)
        if place < len(own):
            pairs += [pair for pair in _results(turn, own[place], given) if pair[0] != pair[1]]
    return dataclasses.replace(script, turns=tuple(turns))


def _reread(call: GoldCall, pairs: Sequence[tuple[Json, Json]]) -> GoldCall:
    return dataclasses.replace(call, arguments={name: _value(value, pairs) for name, value in call.arguments.items()})


def _value(value: Json, pairs: Sequence[tuple[Json, Json]]) -> Json:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    now = {canonical_text(one): one for before, after in pairs for one in _moved(value, before, after)}
    # Where results disagree on it there is no telling which one was meant.
    return next(iter(now.values())) if len(now) == 1 else value


def _moved(value: Json, before: Json, after: Json) -> Iterator[Json]:
    """What stands, in the later result, wherever the earlier one had the value and the later has another."""
    for place, one in _leaves(before):
        if type(one) is type(value) and one == value:
            other = _at(after, place)
            if type(other) is type(value) and other != value:
                yield other


def _given(messages: Sequence[Message]) -> Mapping[Json, str]:
    """Call id to the text of its result."""
    return {
        message["tool_call_id"]: text_of(message.get("content"))
        for message in messages
        if message.get("role") == "tool" and isinstance(message.get("tool_call_id"), str)
    }


def _results(turn: ScriptTurn, message: Message, given: Mapping[Json, str]) -> Iterator[tuple[Json, Json]]:
    """The results of a turn's calls, each as recorded and as given back, for those that the reply made."""
    ids = {call_meaning(call): call.get("id") for call in wire_calls(message)}
    for gold in turn.calls:
        call_id = ids.get((gold.tool, canonical_text(gold.arguments)))
        if isinstance(call_id, str) and call_id in given:
            yield _decoded(gold.recorded_result), _decoded(given[call_id])


def _decoded(text: str) -> Json:
    try:
        return strict_json(text)
    except ValueError:
        return text


def _leaves(value: Json, place: Place = ()) -> Iterator[tuple[Place, Json]]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _leaves(one, (*place, name))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            yield from _leaves(one, (*place, index))
    else:
        yield place, value


def _at(value: Json, place: Place) -> Json:
    for step in place:
        if isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list | tuple) and step < len(value):
            value = value[step]
        else:
            return None
    return value
