"""How is a template made to bind a reserved row, all such tasks and each once? By cutting it into parts.

Each part binds reserved rows only at one draw, none at the draws before it and any at those after: together the parts
are exactly what binds a reserved row somewhere, and no two share a task. A part is the template with other filters, so
that expansion itself binds it; a task says nothing of filters. Rule: evaluation.md §2, generation.md §3.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from bfcl.pack.fixtures import collection_rows, primary_key
from bfcl.pack.held_out import fixture_ref, reserved_refs
from bfcl.pack.model import Pack
from bfcl.records.template import SimulatorTurn, Slot, SlotUpdate, Template
from bfcl.stages.bindings import Resolved, Sources, sources_of
from bfcl.stages.row_links import fixture_source

Side = Literal["free", "reserved"]
"""Which rows a draw takes: those that a policy leaves, or those that it keeps back."""

_MARK: Final = "@"
"""No filter starts so: see `parse_filter`."""


class PartSources(Sources):
    """What the draws of parts offer. Unmarked draws offer every row."""

    def __init__(self, pack: Pack) -> None:
        """`pack` has a held-out policy."""
        super().__init__(pack.tools, pack.fixtures, pack.manifest)
        self._sides: Mapping[str, Sources] = {
            "free": sources_of(pack),
            "reserved": Sources(pack.tools, pack.fixtures, pack.manifest, _unreserved(pack)),
        }

    def resolve(self, source: str, filter_text: str | None, fields: tuple[str, ...] = ()) -> Resolved:
        """See `Sources.resolve`; a marked filter also tells the side."""
        if filter_text is None or not filter_text.startswith(_MARK):
            return super().resolve(source, filter_text, fields)
        side, given, original = filter_text.removeprefix(_MARK).partition(":")
        return self._sides[side].resolve(source, original if given else None, fields)


def parts(template: Template, pack: Pack) -> Iterator[Template]:
    """The parts of a template, which only `PartSources` can bind; none where it draws from no collection in question.

    Parts may turn out to bind nothing.
    """
    held_out = pack.held_out
    collections = {name for name, ids in held_out.fixtures.items() if ids} if held_out is not None else set()
    places = [place for place in _places(template) if place.collection in collections]
    for index, place in enumerate(places):
        sides: dict[_Key, Side] = {earlier.key: "free" for earlier in places[:index]}
        yield _marked(template, {**sides, place.key: "reserved"})


_Key = tuple[int | None, str]
"""Entry of the user's turns, None for the slot itself; name of the slot."""


class _Place(NamedTuple):
    """Something that a template draws from rows of its own choice."""

    key: _Key
    collection: str


def _places(template: Template) -> Iterator[_Place]:
    drawn: list[tuple[_Key, Slot | SlotUpdate]] = [
        ((None, name), slot) for name, slot in template.slots.items() if slot.same_row_as is None
    ]
    for entry, turn in enumerate(template.user_simulator_turns):
        drawn += [((entry, update.slot), update) for update in turn.slot_updates]
    for key, one in drawn:
        source = fixture_source(one.source)
        if source is not None and source.collection is not None:
            yield _Place(key, source.collection)


def _marked(template: Template, sides: Mapping[_Key, Side]) -> Template:
    def turn(entry: int, one: SimulatorTurn) -> SimulatorTurn:
        updates = tuple(
            dataclasses.replace(update, filter=_mark(update.filter, sides.get((entry, update.slot))))
            for update in one.slot_updates
        )
        return dataclasses.replace(one, slot_updates=updates)

    return dataclasses.replace(
        template,
        slots={
            name: dataclasses.replace(slot, filter=_mark(slot.filter, sides.get((None, name))))
            for name, slot in template.slots.items()
        },
        user_simulator_turns=tuple(turn(entry, one) for entry, one in enumerate(template.user_simulator_turns)),
    )


def _mark(filter_text: str | None, side: Side | None) -> str | None:
    if side is None:
        return filter_text
    return f"{_MARK}{side}" if filter_text is None else f"{_MARK}{side}:{filter_text}"


def _unreserved(pack: Pack) -> frozenset[str]:
    """References of the rows that the policy leaves, in the collections that it keeps something of."""
    assert pack.held_out is not None
    every: set[str] = set()
    for name, ids in pack.held_out.fixtures.items():
        rows = collection_rows(pack.fixtures, name)
        if rows and ids:
            key = primary_key(name, rows, pack.manifest)
            every.update(fixture_ref(name, one) for row in rows if isinstance(one := row[key], str | int))
    return frozenset(every - reserved_refs(pack.held_out))
