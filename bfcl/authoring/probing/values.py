"""Which other value could have stood in a given place? Plausible ones first: other rows, members, bindings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from bfcl.canonical import Json, canonical_text
from bfcl.pack.fixtures import collection_rows
from bfcl.pack.model import Case, Pack
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.stages.arguments import argument_failures, required_parameters
from bfcl.stages.bindings import Sources, enum_values
from bfcl.stages.call_plan import Argument
from bfcl.stages.row_links import row_links

_FIRST_NUMBER = re.compile(r"[0-9]+")
_LOOKED_AT = 64
"""Candidates of a slot that are looked at for another value; a range may hold millions."""


class Values:
    """What a pack offers in place of a value; built once a pack."""

    def __init__(self, pack: Pack, sources_for: Callable[[Template], Sources]) -> None:
        self._pack, self._sources_for = pack, sources_for
        self._columns = _columns(pack)

    def other(self, field: str, value: Json) -> Json:
        """Another value for a field of a result: one that some fixture row holds there, else a neighbour."""
        column = self._columns.get(field, ())
        like = [one for one in column if value is None or _kind(one) == _kind(value)]
        return _next_to(like, value) if any(_differs(one, value) for one in like) else neighbours(value)[0]

    def element(self, field: str) -> Json:
        """An element for an empty list: what one of that name holds in the fixtures, else a collection's first row.

        Where the pack has neither, some text.
        """
        fixtures = self._pack.fixtures
        for name in fixtures:
            for row in collection_rows(fixtures, name) or ():
                held = row.get(field)
                if isinstance(held, list) and held:
                    first: Json = held[0]
                    return first
        return next(iter(collection_rows(fixtures, field) or ()), "x")

    def other_argument(
        self, tool: Tool, arguments: Mapping[str, Json], name: str, options: Sequence[Json] = ()
    ) -> Json:
        """Another value for an argument: the first of `options`, enum, rows, neighbours that the schema allows."""
        value = arguments[name]
        column = [one for one in self._columns.get(name, ()) if _kind(one) == _kind(value)]
        known = any(not _differs(one, value) for one in column)
        candidates = [
            *options,
            *enum_values(tool, name),
            *([_next_to(column, value)] if known else ()),
            *neighbours(value),
        ]
        usable = [one for one in candidates if one is not None and _differs(one, value)]
        allowed: Iterator[Json] = (one for one in usable if not _refused(tool, {**arguments, name: one}))
        return next(allowed, usable[0])

    def bindable(self, template: Template, task: Task, argument: Argument, corrections: int) -> Iterator[Json]:
        """What the slot behind an argument could have held: superseded values first, then its other candidates.

        `corrections` counts those delivered before the call.
        """
        if argument.kind != "slot":
            return
        name = argument.slot
        for delivery in reversed(task.slot_updates[:corrections]):
            if name in delivery.values:
                yield task.slots_initial[name]
                break
        candidates = _candidates(template, name, self._sources_for(template))
        yield from islice(candidates, _LOOKED_AT)

    def plausible_calls(self, tool: Tool) -> list[Mapping[str, Json]]:
        """Arguments for a call nobody asked for: those of the tool's successful probes, else made up from its schema.

        Last the first of them with one argument changed, for where the expected calls use up the others.
        """
        probed = [case.arguments for case in self._pack.cases if case.tool == tool.name and _succeeds(case)]
        found = probed or [self._made_up(tool)]
        first = found[0]
        name = next((name for name, value in first.items() if is_scalar(value)), None)
        if name is not None:
            found.append({**first, name: self.other_argument(tool, first, name)})
        return found

    def refusal(self, tool: str) -> Json:
        """An error envelope of a tool, with a code that its probes expect."""
        codes = (case.expect.get("error_code") for case in self._pack.cases if case.tool == tool)
        return {"error": {"code": next((code for code in codes if isinstance(code, str)), "not_found")}}

    def _made_up(self, tool: Tool) -> Mapping[str, Json]:
        schema = tool.parameters or {}
        properties = schema.get("properties")
        declared = properties if isinstance(properties, Mapping) else {}
        made: dict[str, Json] = {}
        for name in required_parameters(schema):
            known = [*enum_values(tool, name), *self._columns.get(name, ())]
            made[name] = known[0] if known else _made_up(declared.get(name))
        if tool.requires_confirmation:
            made[self._pack.manifest.confirmation.parameter] = True
        return made


def _candidates(template: Template, name: str, sources: Sources) -> Sequence[Json]:
    """The values that an argument may be bound to, by the name of its slot or of a row's field; none for another."""
    links = row_links(template)
    for leader, linked in links.linked.items():
        for one in linked:
            if one.name == name:
                resolved = sources.resolve(*links.draw(leader, template.slots[leader]))
                return resolved.candidates.linked.get(one.field, ())
    slot = template.slots.get(name)
    return () if slot is None else sources.resolve(*links.draw(name, slot)).candidates.values


def neighbours(value: Json) -> list[Json]:
    """Values of the same JSON type close to a scalar, the likeliest first; for null some text."""
    if value is None:
        return ["x"]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1]
    text = str(value)
    found = _FIRST_NUMBER.search(text)
    if found is None:
        return [text + "x"]
    # The last digit of the first number: a date stays a date, and a row number becomes a neighbour's.
    at = found.end() - 1
    digit = int(text[at])
    return [text[:at] + str(digit - 1 if digit else 1) + text[at + 1 :], text + "x"]


def is_scalar(value: Json) -> bool:
    """Text, number, boolean or null."""
    return value is None or isinstance(value, str | int | float)


def _columns(pack: Pack) -> Mapping[str, tuple[Json, ...]]:
    """Field to the distinct scalars that rows of any collection hold there, in file order."""
    columns: dict[str, dict[str, Json]] = {}
    for name in pack.fixtures:
        for row in collection_rows(pack.fixtures, name) or ():
            for field, value in row.items():
                if value is not None and is_scalar(value):
                    columns.setdefault(field, {}).setdefault(canonical_text(value), value)
    return {field: tuple(values.values()) for field, values in columns.items()}


def _next_to(column: Sequence[Json], value: Json) -> Json:
    """The value after `value`, round the end; the first where it is not among them."""
    texts = [canonical_text(one) for one in column]
    text = canonical_text(value)
    return column[(texts.index(text) + 1) % len(texts)] if text in texts else column[0]


def _differs(one: Json, other: Json) -> bool:
    return canonical_text(one) != canonical_text(other)


def _kind(value: Json) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _refused(tool: Tool, arguments: Mapping[str, Json]) -> bool:
    return tool.parameters is not None and bool(argument_failures(tool.parameters, arguments))


def _succeeds(case: Case) -> bool:
    return case.expect.get("result_class") == "success" and case.coverage != "negative"


def _made_up(schema: Json) -> Json:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(schema, Mapping) and kind in ("integer", "number"):
        least = schema.get("minimum")
        return least if isinstance(least, int | float) else 1
    by_type: Mapping[Json, Json] = {"boolean": True, "array": [], "object": {}}
    return by_type.get(kind, "x") if isinstance(kind, str) else "x"
