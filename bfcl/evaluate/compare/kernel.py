"""Which calls of a reply are the ones that were expected? The only comparison in evaluation. Rule: evaluation.md §8.

What continues a conversation and what scores it ask here, so that no turn can go on that does not count, or the
other way about.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.compare.defaults import Shape, shape_of
from bfcl.evaluate.compare.pairing import pair
from bfcl.evaluate.records import CallMatch, GoldCall
from bfcl.evaluate.settings.model import Scoring
from bfcl.modelio.exchange import ToolCall
from bfcl.stages.arguments import Checker, checker

UNDECLARED: Final = "undeclared_tool"
INVALID_ARGUMENTS: Final = "invalid_arguments"
INVALID_TYPE: Final = "invalid_call_type"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """Top-level arguments by which a call departs from a gold call, each list sorted."""

    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected or self.differing)


class _Parameters:
    """A tool's parameter schema, compiled; the shape of its defaults where they are first needed."""

    def __init__(self, schema: Mapping[str, Json]) -> None:
        self._schema = schema
        self.failures: Checker = checker(schema)

    @functools.cached_property
    def shape(self) -> Shape:
        # A reference in a circle declares defaults without end, and no call satisfies its schema anyway.
        endless = any(failure.code == "unresolvable_schema_ref" for failure in self.failures({}))
        return Shape() if endless else shape_of(self._schema)


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> _Parameters:
    return _Parameters(json.loads(text))


class Kernel:
    """Holds calls against gold calls under one scoring policy and one list of tools.

    Cheap to make: a tool is looked at when a call first names it, and equal schemas share one compiled form.
    """

    def __init__(self, scoring: Scoring, tools: Sequence[Mapping[str, Json]]) -> None:
        self._schema_step = scoring.argument_matching == "schema_then_canonical"
        self._default_step = self._schema_step and scoring.insert_declared_defaults
        self._functions = {name: function for name, function in map(_function, tools) if name is not None}
        self._parameters: dict[str, _Parameters] = {}

    def match(self, calls: Sequence[ToolCall], gold: Sequence[GoldCall]) -> tuple[CallMatch, ...]:
        """Pair the calls of one reply with the gold calls of one turn, as a set; parallel to `calls`.

        As many full matches as there can be, then calls that share only the name with a gold call left; gold order,
        then reply order, breaks ties. A gold call is claimed once.
        """
        reasons = [self.schema_reasons(call) for call in calls]
        compared = [
            {index: self._difference(call, one) for index, call in enumerate(calls) if call.function_name == one.tool}
            for one in gold
        ]
        fits = [[index for index in held if not reasons[index] and not held[index]] for held in compared]
        claims = pair(fits)
        full = {index: place for place, index in enumerate(claims) if index is not None}
        paired = dict(full)
        for place, held in enumerate(compared):
            left = next((index for index in held if index not in paired), None)
            if claims[place] is None and left is not None:
                paired[left] = place
        found: list[CallMatch] = []
        for index, call in enumerate(calls):
            match = CallMatch(
                call_index=call.index,
                gold_index=None,
                name_matches=False,
                arguments_match=False,
                schema_reasons=reasons[index],
            )
            if index in paired:
                place = paired[index]
                match = dataclasses.replace(
                    match,
                    gold_index=gold[place].index,
                    name_matches=True,
                    arguments_match=index in full,
                    missing=compared[place][index].missing,
                    unexpected=compared[place][index].unexpected,
                    differing=compared[place][index].differing,
                )
            found.append(match)
        return tuple(found)

    def schema_reasons(self, call: ToolCall) -> tuple[str, ...]:
        """Why a call is not well formed by the tool it names: codes, sorted, each once; empty where it is.

        Without the schema step nothing is said of the parameters, only of what makes it a call of a declared tool.
        """
        found: set[str] = set()
        if call.type != "function":
            found.add(INVALID_TYPE)
        parameters = self._of(call.function_name)
        if parameters is None:
            found.add(UNDECLARED)
        if call.parsed_arguments is None:
            found.add(INVALID_ARGUMENTS)
        elif parameters is not None and self._schema_step:
            found.update(failure.code for failure in parameters.failures(call.parsed_arguments))
        return tuple(sorted(found))

    def _of(self, name: str) -> _Parameters | None:
        """The compiled parameters of a declared tool, or None."""
        known = self._parameters.get(name)
        if known is None and name in self._functions:
            declared = self._functions[name].get("parameters")
            known = self._parameters[name] = _compiled(canonical_text(declared if declared is not None else {}))
        return known

    def _difference(self, call: ToolCall, gold: GoldCall) -> _Difference:
        """Where the arguments depart. None at all of arguments that are no object: there is nothing to hold."""
        made = call.parsed_arguments
        if made is None:
            return _Difference()
        expected = gold.arguments
        parameters = self._of(gold.tool) if self._default_step else None
        if parameters is not None:
            shape = parameters.shape
            free = shape.defaults.keys() - expected.keys()
            made, expected = (
                {name: shape.member(name, one) for name, one in side.items() if name not in free}
                for side in ({**shape.defaults, **made}, expected)
            )
        seen, wanted = ({name: canonical_text(one) for name, one in side.items()} for side in (made, expected))
        return _Difference(
            missing=tuple(sorted(wanted.keys() - seen.keys())),
            unexpected=tuple(sorted(seen.keys() - wanted.keys())),
            differing=tuple(sorted(name for name in seen.keys() & wanted.keys() if seen[name] != wanted[name])),
        )


def _function(tool: Mapping[str, Json]) -> tuple[str | None, Mapping[str, Json]]:
    """Name and declaration of a `{type, function}` object."""
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return None, {}
    name = function.get("name")
    return (name if isinstance(name, str) else None), function
