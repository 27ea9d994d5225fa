"""How does a reply depart from what its script asks for, once and in one way? Rule: evaluation.md §9, §15.

Each departure is made at the first turn that leaves room for it; whatever stands before and behind it stays right. None
where a script leaves no room: then there is nothing to get wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.records import GoldCall, Script, ScriptTurn
from bfcl.evaluate.scripted.said import Made, Play, Said, as_expected, expected, gold_play, made
from bfcl.evaluate.scripted.values import (
    declared_defaults,
    other_arguments,
    plausible_arguments,
    required_names,
)
from bfcl.stages.arguments import checker

Departure: TypeAlias = Callable[[Script], "Play | None"]

_LEFT_OUT: Final = "I will leave it at that."
_BLANK: Final = " \n"
_UNDECLARED: Final = "_undeclared"


def silent(script: Script) -> Play:
    return tuple(Said() for _ in script.turns)


# --- calls that are not the ones asked for --------------------------------------------------------------------------


def wrong_tool(script: Script) -> Play | None:
    return _at_first_turn(script, lambda turn: _with_first(turn, _other_call(script, turn)) if turn.calls else None)


def undeclared_tool(script: Script) -> Play | None:
    names = {name for name, _ in _declared(script)}

    def call(gold: GoldCall) -> Made:
        name = gold.tool + _UNDECLARED
        while name in names:
            name += _UNDECLARED
        return made(name, gold.arguments)

    return _at_first_call(script, call)


def extra_call(script: Script) -> Play | None:
    def said(turn: ScriptTurn) -> Said | None:
        calls = as_expected(turn).calls
        return Said(calls=(*calls, calls[-1])) if calls else None

    return _at_first_turn(script, said)


def missing_call(script: Script) -> Play | None:
    def said(turn: ScriptTurn) -> Said | None:
        calls = as_expected(turn).calls
        if not calls:
            return None
        return Said(calls=calls[:-1]) if len(calls) > 1 else Said(content=_LEFT_OUT)

    return _at_first_turn(script, said)


def permuted(script: Script) -> Play | None:
    def said(turn: ScriptTurn) -> Said | None:
        calls = as_expected(turn).calls
        return Said(calls=(*calls[1:], calls[0])) if len(set(_wire(calls))) > 1 else None

    return _at_first_turn(script, said)


def split_group(script: Script) -> Play | None:
    for turn in script.turns:
        calls = as_expected(turn).calls
        if len(calls) > 1:
            play = gold_play(script)
            parts = (Said(calls=calls[:1]), Said(calls=calls[1:]))
            return (*play[: turn.index], *parts, *play[turn.index + 1 :])
    return None


# --- arguments ------------------------------------------------------------------------------------------------------


def wrong_value(script: Script) -> Play | None:
    def said(turn: ScriptTurn) -> Said | None:
        right = {canonical_text(call.arguments) for call in turn.calls}
        for place, gold in enumerate(turn.calls):
            wrong = other_arguments(_parameters(script, gold.tool), gold.arguments, avoid=right)
            if wrong is not None:
                return _with(turn, place, made(gold.tool, wrong))
        return None

    return _at_first_turn(script, said)


def number_as_text(script: Script) -> Play | None:
    def call(gold: GoldCall, *, refused: bool) -> Made | None:
        failures = checker(_parameters(script, gold.tool))
        for name, value in gold.arguments.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                told = {**gold.arguments, name: canonical_text(value)}
                if failures(told) or not refused:
                    return made(gold.tool, told)
        return None

    # Where a schema admits a text as well, the value is merely a wrong one: second best.
    strictly = _at_first_call(script, lambda gold: call(gold, refused=True))
    return strictly or _at_first_call(script, lambda gold: call(gold, refused=False))


def omitted_required_default(script: Script) -> Play | None:
    def call(gold: GoldCall) -> Made | None:
        schema = _parameters(script, gold.tool)
        defaults = declared_defaults(schema)
        for name in required_names(schema):
            if name in defaults and name in gold.arguments:
                return made(gold.tool, {key: value for key, value in gold.arguments.items() if key != name})
        return None

    return _at_first_call(script, call)


def explicit_default(script: Script) -> Play | None:
    """Still right: an omitted argument is its default."""

    def call(gold: GoldCall) -> Made | None:
        defaults = declared_defaults(_parameters(script, gold.tool))
        return made(gold.tool, {**defaults, **gold.arguments}) if defaults.keys() - gold.arguments.keys() else None

    return _at_first_call(script, call)


def unconstrained_value(script: Script) -> Play | None:
    """Still right by its trace: no value is asked for. Never a truth value, which could be the word that confirms."""

    def call(gold: GoldCall) -> Made | None:
        schema = _parameters(script, gold.tool)
        for name, default in declared_defaults(schema).items():
            if name not in gold.arguments and not isinstance(default, bool):
                other = other_arguments(schema, {**gold.arguments, name: default}, only=name)
                if other is not None:
                    return made(gold.tool, other)
        return None

    return _at_first_call(script, call)


def invalid_json(script: Script) -> Play | None:
    return _at_first_call(script, lambda gold: Made(name=gold.tool, arguments=canonical_text(gold.arguments)[:-1]))


def arguments_object(script: Script) -> Play | None:
    return _at_first_call(script, lambda gold: Made(name=gold.tool, arguments=gold.arguments))


# --- text turns -----------------------------------------------------------------------------------------------------


def call_on_text_turn(script: Script) -> Play | None:
    def said(turn: ScriptTurn) -> Said | None:
        if turn.calls:
            return None
        call = _other_call(script, turn)
        if call is None and script.gold_calls:
            call = expected(script.gold_calls[0])
        return None if call is None else Said(calls=(call,))

    return _at_first_turn(script, said)


def blank_text(script: Script) -> Play | None:
    return _at_first_turn(script, lambda turn: None if turn.calls else Said(content=_BLANK))


def early_confirmation(script: Script) -> Play | None:
    """Takes a `yes` for granted: calls that say `true` are made where the user is to be asked first."""

    def said(turn: ScriptTurn) -> Said | None:
        if turn.calls or turn.user_after is None:
            return None
        ahead = script.turns[turn.index + 1]
        confirms = any(value is True for call in ahead.calls for value in call.arguments.values())
        return as_expected(ahead) if confirms else None

    return _at_first_turn(script, said)


# --- the envelope ---------------------------------------------------------------------------------------------------


def duplicate_ids(script: Script) -> Play | None:
    return _with_ids(script, least=2, own=lambda call: replace(call, id="shared"))


def missing_ids(script: Script) -> Play | None:
    return _with_ids(script, least=1, own=lambda call: replace(call, id="none"))


def truncated(script: Script) -> Play:
    """At the first turn with calls, or else the first."""
    index = next((turn.index for turn in script.turns if turn.calls), 0)
    play = gold_play(script)
    return (*play[:index], replace(play[index], cut=True), *play[index + 1 :])


# --- how a departure is placed --------------------------------------------------------------------------------------


def _at_first_turn(script: Script, said: Callable[[ScriptTurn], Said | None]) -> Play | None:
    """The right play with another reply at the first turn for which there is one."""
    for turn in script.turns:
        other = said(turn)
        if other is not None:
            play = gold_play(script)
            return (*play[: turn.index], other, *play[turn.index + 1 :])
    return None


def _at_first_call(script: Script, call: Callable[[GoldCall], Made | None]) -> Play | None:
    """The right play with another call in the place of the first one for which there is one."""

    def said(turn: ScriptTurn) -> Said | None:
        for place, gold in enumerate(turn.calls):
            other = call(gold)
            if other is not None:
                return _with(turn, place, other)
        return None

    return _at_first_turn(script, said)


def _with_ids(script: Script, *, least: int, own: Callable[[Made], Made]) -> Play | None:
    def said(turn: ScriptTurn) -> Said | None:
        calls = as_expected(turn).calls
        return Said(calls=tuple(map(own, calls))) if len(calls) >= least else None

    return _at_first_turn(script, said)


def _with(turn: ScriptTurn, place: int, call: Made) -> Said:
    calls = as_expected(turn).calls
    return Said(calls=(*calls[:place], call, *calls[place + 1 :]))


def _with_first(turn: ScriptTurn, call: Made | None) -> Said | None:
    return None if call is None else _with(turn, 0, call)


def _other_call(script: Script, turn: ScriptTurn) -> Made | None:
    """A well-formed call of a declared tool that the turn does not ask for, one never asked for where there is any."""
    wanted = {call.tool for call in script.gold_calls}
    here = {call.tool for call in turn.calls}
    declared = sorted(_declared(script), key=lambda tool: tool[0] in wanted)
    for name, schema in declared:
        arguments = plausible_arguments(schema) if name not in here else None
        if arguments is not None:
            return made(name, arguments)
    return None


def _declared(script: Script) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Name and parameters of every tool, as declared."""
    for tool in script.tools:
        function = tool.get("function")
        if isinstance(function, Mapping):
            name, parameters = function.get("name"), function.get("parameters")
            if isinstance(name, str):
                yield name, parameters if isinstance(parameters, Mapping) else {}


def _parameters(script: Script, tool: str) -> Mapping[str, Json]:
    return next((schema for name, schema in _declared(script) if name == tool), {})


def _wire(calls: Sequence[Made]) -> list[str]:
    return [canonical_text([call.name, call.arguments]) for call in calls]
