"""Would a reply have passed but for one small thing, and which? Rule: evaluation.md §16.3. Diagnostics only.

A tag is given where the comparison itself, asked again about the reply with that one thing mended, finds all of the
turn matched; so no tag rests on a comparison of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.compare.kernel import Kernel
from bfcl.evaluate.records import GoldCall, Script, TurnEvidence
from bfcl.evaluate.settings.model import Scoring
from bfcl.modelio.exchange import ToolCall

NearMiss = Literal["numeric_type_only", "case_or_space_only", "default_only", "order_only", "split_group"]

_Arguments: TypeAlias = Mapping[str, Json]
_Mend: TypeAlias = Callable[[_Arguments, GoldCall], _Arguments]
_LONGEST_NUMBER: Final = 400


def near_miss(script: Script, turn: TurnEvidence, scoring: Scoring) -> NearMiss | None:
    """The tag of a call turn that did not advance, or None where there is more, or something else, to it."""
    response = turn.response
    if turn.advanced or response is None or response.incomplete or not turn.gold or not response.tool_calls:
        return None
    if all(match.full for match in turn.matches):
        if len(turn.matches) < len(turn.gold):
            return "split_group"
        return "order_only" if len(turn.matches) == len(turn.gold) and not turn.ordered else None
    if len(turn.matches) != len(turn.gold) or not turn.ordered:
        return None
    kernel = Kernel(scoring, script.tools)
    declared = _defaults(script)
    mends: tuple[tuple[NearMiss, _Mend], ...] = (
        ("numeric_type_only", lambda made, gold: _towards_all(made, gold.arguments, _same_number)),
        ("case_or_space_only", lambda made, gold: _towards_all(made, gold.arguments, _same_letters)),
        ("default_only", lambda made, gold: _with_defaults(made, gold, declared.get(gold.tool, {}))),
    )
    for tag, mend in mends:
        calls = _mended(turn, response.tool_calls, mend)
        if all(match.full for match in kernel.match(calls, turn.gold)):
            return tag
    return None


def _mended(turn: TurnEvidence, calls: Sequence[ToolCall], mend: _Mend) -> list[ToolCall]:
    """The calls with the arguments of each mended towards the gold call that it was paired with."""
    gold = {one.index: one for one in turn.gold}
    told = []
    for call, match in zip(calls, turn.matches, strict=True):
        if match.gold_index is None or call.parsed_arguments is None:
            told.append(call)
        else:
            told.append(replace(call, parsed_arguments=mend(call.parsed_arguments, gold[match.gold_index])))
    return told


def _towards_all(made: _Arguments, gold: _Arguments, same: Callable[[Json, Json], bool]) -> _Arguments:
    return {name: _towards(value, gold[name], same) if name in gold else value for name, value in made.items()}


def _towards(made: Json, gold: Json, same: Callable[[Json, Json], bool]) -> Json:
    """The value, its leaves replaced by the expected ones that they are the `same` as."""
    if isinstance(made, Mapping) and isinstance(gold, Mapping):
        return _towards_all(made, gold, same)
    if isinstance(made, list | tuple) and isinstance(gold, list | tuple) and len(made) == len(gold):
        return [_towards(one, other, same) for one, other in zip(made, gold, strict=True)]
    return gold if same(made, gold) else made


def _same_number(made: Json, gold: Json) -> bool:
    one, other = _number(made), _number(gold)
    return one is not None and one == other


def _number(value: Json) -> Decimal | None:
    """The number that a number or a text is."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    if len(text) > _LONGEST_NUMBER or "_" in text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _same_letters(made: Json, gold: Json) -> bool:
    return isinstance(made, str) and isinstance(gold, str) and _letters(made) == _letters(gold)


def _letters(text: str) -> str:
    return "".join(text.split()).casefold()


def _defaults(script: Script) -> dict[str, _Arguments]:
    """Tool to the default of each parameter that declares one."""
    found: dict[str, _Arguments] = {}
    for tool in script.tools:
        function = tool.get("function")
        name = function.get("name") if isinstance(function, Mapping) else None
        parameters = function.get("parameters") if isinstance(function, Mapping) else None
        declared = parameters.get("properties") if isinstance(parameters, Mapping) else None
        if isinstance(name, str) and isinstance(declared, Mapping):
            found[name] = {
                key: schema["default"]
                for key, schema in declared.items()
                if isinstance(schema, Mapping) and "default" in schema
            }
    return found


def _with_defaults(made: _Arguments, gold: GoldCall, defaults: _Arguments) -> _Arguments:
    """The arguments with every expected default that they omit, and without those that are stated needlessly."""
    stated = {name: canonical_text(value) for name, value in defaults.items()}
    kept = {
        name: value
        for name, value in made.items()
        if name in gold.arguments or name not in stated or canonical_text(value) != stated[name]
    }
    omitted = {
        name: value
        for name, value in gold.arguments.items()
        if name not in made and name in stated and canonical_text(value) == stated[name]
    }
    return {**kept, **omitted}
