"""Which other calls could a candidate have made? Mutants that the oracle plays, so results and state follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from bfcl.authoring.probing.mutant import Expected, Mutant, named
from bfcl.authoring.probing.values import Values, is_scalar
from bfcl.canonical import canonical_text
from bfcl.oracle.protocol import PlannedCall
from bfcl.records.tool import Tool
from bfcl.stages.call_plan import blueprint
from bfcl.stages.divergence import shortened

_EXTRA_VARIANTS: Final = 2
"""Different arguments tried for an extra call of one tool: some may be refused, which leaves no trace in the state."""


def executed(expected: Expected, catalog: Mapping[str, Tool], values: Values) -> Iterator[Mutant]:
    """Every mutant of an expected conversation that consists of calls; kinds in no particular order."""
    yield from _dropped(expected)
    yield from _repeated(expected)
    yield from _reordered(expected)
    yield from _changed(expected, catalog, values)
    yield from _added(expected, catalog, values)


def _dropped(expected: Expected) -> Iterator[Mutant]:
    calls = expected.episode.calls
    for index in range(len(calls)):
        yield Mutant(
            kind="drop_call",
            what=f"{named(expected, index)} is left out",
            look_at=_count(expected, index),
            call=index,
            calls=(*calls[:index], *calls[index + 1 :]),
        )


def _repeated(expected: Expected) -> Iterator[Mutant]:
    calls = expected.episode.calls
    for index in range(len(calls)):
        yield Mutant(
            kind="repeat_call",
            what=f"{named(expected, index)} is made twice",
            look_at=_count(expected, index),
            call=index,
            calls=(*calls[: index + 1], *calls[index:]),
        )


def _count(expected: Expected, index: int) -> str:
    """How often the tool of a call is called, in words."""
    tool = expected.episode.calls[index].tool
    times = sum(call.tool == tool for call in expected.episode.calls)
    return f"how often `{tool}` is called (expected: {'once' if times == 1 else f'{times} times'})"


# --- order ----------------------------------------------------------------------------------------------------------


def _reordered(expected: Expected) -> Iterator[Mutant]:
    """Neighbouring calls swapped, then neighbouring batches of which one holds several; only where order matters."""
    calls = expected.episode.calls
    batches = _batches(expected)
    swaps: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((index,), (index + 1,)) for index in range(len(calls) - 1)]
    swaps += [pair for pair in pairwise(batches) if len(pair[0]) + len(pair[1]) > 2]
    for left, right in swaps:
        moved = _swapped(calls, left, right)
        if _told(moved) == _told(calls) or _is_legal(expected, left, right, moved):
            continue
        first, second = (" and ".join(named(expected, index) for index in side) for side in (right, left))
        yield Mutant(
            kind="reorder_calls",
            what=f"{first} before {second}",
            look_at=f"that {second} comes before {first}",
            call=left[0],
            calls=moved,
        )


def _batches(expected: Expected) -> list[tuple[int, ...]]:
    groups: dict[int, list[int]] = {}
    for index, call in enumerate(expected.representative.trace.calls):
        groups.setdefault(call.call_group, []).append(index)
    return [tuple(group) for group in groups.values()]


def _swapped(calls: Sequence[PlannedCall], left: Sequence[int], right: Sequence[int]) -> tuple[PlannedCall, ...]:
    """The calls with two neighbouring runs swapped; the turns they are made in stay where they were."""
    order = [*range(left[0]), *right, *left, *range(right[-1] + 1, len(calls))]
    return tuple(
        dataclasses.replace(calls[index], turn_index=calls[place].turn_index) for place, index in enumerate(order)
    )


def _told(calls: Sequence[PlannedCall]) -> list[tuple[str, str]]:
    return [(call.tool, canonical_text(call.arguments)) for call in calls]


def _is_legal(expected: Expected, left: Sequence[int], right: Sequence[int], moved: Sequence[PlannedCall]) -> bool:
    """Whether the template's `call_order` lets a candidate do this. Batches always keep their order."""
    template, trace = expected.template, expected.representative.trace
    within = len({trace.calls[index].call_group for index in (*left, *right)}) == 1
    if template.call_order == "any":
        return within
    if template.call_order != "prefix" or not within:
        return False
    named_first = [name for name in dict.fromkeys(call.tool for call in moved) if name in template.required_tools]
    length = template.call_order_prefix or 0
    return tuple(named_first[:length]) == template.required_tools[:length]


# --- arguments and further calls ------------------------------------------------------------------------------------


def _changed(expected: Expected, catalog: Mapping[str, Tool], values: Values) -> Iterator[Mutant]:
    calls, template = expected.episode.calls, expected.template
    plans = blueprint(template, expected.representative.outline, catalog).calls
    for index, (call, plan) in enumerate(zip(calls, plans, strict=True)):
        sources = {argument.name: argument for argument in plan.arguments}
        for name, value in call.arguments.items():
            if not is_scalar(value):
                continue
            bound = values.bindable(template, expected.representative.task, sources[name], plan.corrections)
            other = values.other_argument(catalog[call.tool], call.arguments, name, list(bound))
            changed = dataclasses.replace(call, arguments={**call.arguments, name: other})
            yield Mutant(
                kind="change_argument",
                what=f"`{name}` of {named(expected, index)} is {shortened(other)} instead of {shortened(value)}",
                look_at=f"argument `{name}`",
                within=f" of {named(expected, index)}",
                call=index,
                calls=(*calls[:index], changed, *calls[index + 1 :]),
            )


def _added(expected: Expected, catalog: Mapping[str, Tool], values: Values) -> Iterator[Mutant]:
    """A call nobody asked for: of any tool where none is expected, of one that changes state where the task does."""
    calls = expected.episode.calls
    if not calls:
        wanted = [catalog[name] for name in expected.template.tools_present]
    elif expected.template.mutates:
        wanted = [tool for tool in catalog.values() if tool.mutates]
    else:
        return
    for tool in wanted:
        known = {canonical_text(call.arguments) for call in calls if call.tool == tool.name}
        fresh = [one for one in values.plausible_calls(tool) if canonical_text(one) not in known]
        for arguments in fresh[: _EXTRA_VARIANTS if calls else 1]:
            turn = calls[-1].turn_index if calls else 0
            yield Mutant(
                kind="extra_call",
                what=f"a further call `{tool.name}` with {shortened(arguments)}",
                look_at=f"that `{tool.name}` is not called"
                if not known
                else f"that `{tool.name}` is not called again, or what it changed",
                calls=(*calls, PlannedCall(tool=tool.name, arguments=arguments, turn_index=turn)),
            )
