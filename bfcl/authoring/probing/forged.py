"""What could the calls have answered or left behind? Mutants that no oracle would produce, judged as they are given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from bfcl.authoring.probing.elements import Whole, altered, resized
from bfcl.authoring.probing.mutant import Expected, Mutant, named
from bfcl.authoring.probing.places import Absent, Change, changes, field_of, leaves, shown_place, value_at, with_value
from bfcl.authoring.probing.values import Values
from bfcl.canonical import Json, canonical_text
from bfcl.oracle.protocol import Given
from bfcl.stages.divergence import shortened

_NAMED_CHANGES = 4
"""Changes of the state that the words of a whole reverted state name."""


def forged(expected: Expected, values: Values) -> Iterator[Mutant]:
    """Every mutant of an expected conversation that keeps its calls and forges an answer or the final state."""
    for index, result in enumerate(expected.results):
        yield _refused(expected, index, result, values)
        for place, value in leaves(result):
            other = values.other(field_of(place), value)
            shown = shown_place("result", place)
            yield Mutant(
                kind="change_result",
                what=f"`{shown}` of {named(expected, index)} is {shortened(other)} instead of {shortened(value)}",
                look_at=f"`{shown}`",
                within=f" of {named(expected, index)}",
                call=index,
                given=_answering(expected, index, with_value(result, place, other)),
            )
        for one in altered(Whole(result, "result", f" of {named(expected, index)}"), values):
            given = _answering(expected, index, one.value)
            yield Mutant(kind=one.kind, what=one.what, look_at=one.look_at, call=index, given=given)
    yield from _reverted(expected)
    yield from _overgrown(expected, values)


def _refused(expected: Expected, index: int, result: Json, values: Values) -> Mutant:
    """A refusal in place of the answer; where a refusal is expected, an empty answer."""
    is_refusal = isinstance(result, Mapping) and isinstance(result.get("error"), dict)
    envelope: Json = {} if is_refusal else values.refusal(expected.episode.calls[index].tool)
    return Mutant(
        kind="refuse_result",
        what=f"{named(expected, index)} answers {shortened(envelope)}",
        look_at="`result.error`",
        within=f" of {named(expected, index)}",
        call=index,
        given=_answering(expected, index, envelope),
    )


def _answering(expected: Expected, index: int, result: Json) -> Given:
    texts = [*expected.texts]
    texts[index] = canonical_text(result)
    return Given(trace=_trace(expected, texts), state=expected.after)


def _trace(expected: Expected, results: list[str]) -> str:
    """The expected calls with these results, as canonical text."""
    return canonical_text(
        [
            {"tool": call.tool, "arguments": call.arguments, "result": json.loads(result)}
            for call, result in zip(expected.episode.calls, results, strict=True)
        ]
    )


def _reverted(expected: Expected) -> Iterator[Mutant]:
    """The state as reset left it; then each single change of it undone, where there are several.

    A change of a scalar at the top of the state is not undone alone: it is a counter, which no user asked about.
    """
    if expected.before == expected.after:
        return
    before, after = json.loads(expected.before), json.loads(expected.after)
    found = list(changes(before, after))
    trace = _trace(expected, [*expected.texts])
    telling = [change for change in found if len(change.place) > 1]
    listed = ", ".join(f"`{shown_place('state', change.place)}`" for change in (telling or found)[:_NAMED_CHANGES])
    yield Mutant(
        kind="revert_state",
        what="the final state is the one `reset` left",
        look_at=f"the final state: {listed}",
        given=Given(trace=trace, state=expected.before),
    )
    for change in telling if len(found) > 1 else ():
        yield Mutant(
            kind="revert_change",
            what=_undone(change),
            look_at=f"`{shown_place('state', change.place)}`",
            given=Given(trace=trace, state=canonical_text(with_value(after, change.place, change.before))),
        )


def _overgrown(expected: Expected, values: Values) -> Iterator[Mutant]:
    """Lists of the state that the calls made longer or shorter, with one element fewer or more than they should have.

    A table is such a list: a row is lost, or another written, beside what was asked for. The order of rows is the
    backend's affair.
    """
    if expected.before == expected.after:
        return
    before, after = json.loads(expected.before), json.loads(expected.after)
    found = list(changes(before, after))
    told = {expected.before, *(canonical_text(with_value(after, one.place, one.before)) for one in found if one.place)}
    trace = _trace(expected, [*expected.texts])
    for place in dict.fromkeys(place for change in found for place in (change.place, change.place[:-1])):
        old, items = value_at(before, place), value_at(after, place)
        if not isinstance(old, list) or not isinstance(items, list) or len(old) == len(items):
            continue
        for one in resized(Whole(after, "state"), place, items, values):
            state = canonical_text(one.value)
            if state not in told:
                given = Given(trace=trace, state=state)
                yield Mutant(kind=one.kind, what=one.what, look_at=one.look_at, given=given)


def _undone(change: Change) -> str:
    shown = f"`{shown_place('state', change.place)}`"
    if isinstance(change.before, Absent):
        return f"{shown} is not there"
    if isinstance(change.after, Absent):
        return f"{shown} is still there"
    return f"{shown} is still {shortened(change.before)} instead of {shortened(change.after)}"
