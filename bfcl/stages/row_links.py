"""Which values does a template take from one row together, and what does it draw in all? Rule: pack.md §15, item 7.

A slot with `same_row_as` follows another slot, its leader: it draws nothing, its value is a field of the leader's row.
An argument `{"from_fixture": {slot, field}}` does the same without a slot of its own. Its value is bound under the name
`<slot>.<field>`, which no placeholder can write: no text says it, and so no guard asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.errors import BfclError, Problem, did_you_mean
from bfcl.pack.slots import SlotSource, parse_source
from bfcl.records.template import Slot, SlotUpdate, Template

MARKER: Final = "from_fixture"
INVALID: Final = "slot_row_link_invalid"


class Linked(NamedTuple):
    """One value that comes out of a leader's row."""

    name: str
    """What it is bound as: the follower's name, or `<slot>.<field>`."""
    field: str
    """Of the row."""
    place: str
    """Where the template declares it, as a dotted path."""
    what: str
    """How messages name it."""


class Draw(NamedTuple):
    """Source and filter of a slot or correction, and the other fields that a row has to offer with it."""

    source: str
    filter: str | None
    fields: tuple[str, ...] = ()


class RowLinks(NamedTuple):
    """The links of a template that hold, by leader, and what is wrong with the others."""

    linked: Mapping[str, tuple[Linked, ...]]
    """Followers in declaration order, then arguments in call order; each name once."""
    problems: tuple[Problem, ...]
    """`unknown_slot`, `slot_row_link_invalid`; fields are dotted paths inside the template."""

    def of(self, leader: str) -> tuple[Linked, ...]:
        """What the row of a slot gives beside the slot's own value."""
        return self.linked.get(leader, ())

    def draw(self, leader: str, drawn: Slot | SlotUpdate) -> Draw:
        """What a leader, or a correction of it, draws."""
        return Draw(drawn.source, drawn.filter, tuple(dict.fromkeys(one.field for one in self.of(leader))))

    def moved_by(self, slot: str) -> frozenset[str]:
        """The names whose values a correction of `slot` replaces: its own and those of its row."""
        return frozenset((slot, *(one.name for one in self.of(slot))))


def row_links(template: Template) -> RowLinks:
    """The links of a template, told apart from those that cannot hold. What a row really has, `Sources` knows."""
    linked: dict[str, dict[str, Linked]] = {}
    problems: list[Problem] = []
    for slot in template.slots.values():
        faults = list(_follower_faults(template, slot))
        problems += faults
        source = fixture_source(slot.source)
        if slot.same_row_as is not None and source is not None and not faults:
            one = Linked(slot.name, source.field or "", f"slots.{slot.name}.same_row_as", f"slot `{slot.name}`")
            linked.setdefault(slot.same_row_as, {})[one.name] = one
    for field, name, value in _arguments(template):
        faults = list(_marker_faults(template, field, name, value))
        problems += faults
        marker = read_marker(value)
        if marker is None or faults:
            continue
        one = Linked(marker.name, marker.field, field, f"argument `{name}`")
        linked.setdefault(marker.slot, {}).setdefault(one.name, one)
    return RowLinks({leader: tuple(each.values()) for leader, each in linked.items()}, tuple(problems))


def draws(template: Template) -> Iterator[Draw]:
    """What every slot draws that follows no other, then what every correction does."""
    links = row_links(template)
    for name, slot in template.slots.items():
        if slot.same_row_as is None:
            yield links.draw(name, slot)
    for turn in template.user_simulator_turns:
        for update in turn.slot_updates:
            yield links.draw(update.slot, update)


def fixture_source(source: str) -> SlotSource | None:
    """The parsed source, where it is one of fixture rows."""
    try:
        parsed = parse_source(source)
    except BfclError:
        return None  # told by the slot's own problem
    return parsed if parsed.kind == "fixture" else None


# --- markers --------------------------------------------------------------------------------------------------------


class Marker(NamedTuple):
    """What a well-formed `from_fixture` asks for."""

    slot: str
    field: str

    @property
    def name(self) -> str:
        """What its value is bound as. Slot names are identifiers, so the first dot ends the slot's part."""
        return f"{self.slot}.{self.field}"


def is_marker(value: Json) -> bool:
    """Whether an argument is meant as a `from_fixture`, well-formed or not."""
    return isinstance(value, Mapping) and MARKER in value


def read_marker(value: Json) -> Marker | None:
    """The slot and field of a well-formed `from_fixture`; None for any other argument."""
    if not isinstance(value, Mapping) or value.keys() != {MARKER}:
        return None
    named = value[MARKER]
    if not isinstance(named, Mapping) or named.keys() != {"slot", "field"}:
        return None
    slot, field = named["slot"], named["field"]
    if not isinstance(slot, str) or not isinstance(field, str) or not slot.strip() or not field.strip():
        return None
    return Marker(slot, field)


def has_key(value: Json, key: str) -> bool:
    """Whether an object at any depth of `value` has `key`."""
    if isinstance(value, Mapping):
        return key in value or any(has_key(member, key) for member in value.values())
    return isinstance(value, list | tuple) and any(has_key(element, key) for element in value)


def _arguments(template: Template) -> Iterator[tuple[str, str, Json]]:
    """(dotted place, parameter, value) of every declared argument."""
    for index, milestone in enumerate(template.assistant_milestones):
        for name, value in milestone.args.items():
            yield f"assistant_milestones.{index}.args.{name}", name, value


# --- faults ---------------------------------------------------------------------------------------------------------


def _follower_faults(template: Template, slot: Slot) -> Iterator[Problem]:
    if slot.same_row_as is None:
        return
    what = f"slot `{slot.name}` takes its row from `{slot.same_row_as}`"
    place = f"slots.{slot.name}"
    leader = template.slots.get(slot.same_row_as)
    if leader is None:
        others = [name for name in template.slots if name != slot.name]
        fix = did_you_mean(slot.same_row_as, others)
        message = f"{what}, which is no slot of the template"
        yield _problem(template, "unknown_slot", f"{place}.same_row_as", message, fix)
        return
    if leader.name == slot.name:
        yield _problem(template, INVALID, f"{place}.same_row_as", f"{what}; expected another slot")
        return
    if leader.same_row_as is not None:
        end = leader.same_row_as
        message = f"{what}, which takes it from `{end}`; expected a slot that draws its own row"
        fix = "remove one of the two" if end in (slot.name, leader.name) else f"write `same_row_as: {end}`"
        yield _problem(template, INVALID, f"{place}.same_row_as", message, fix)
        return
    yield from _leader_faults(template, leader, f"{place}.same_row_as", what)
    row = fixture_source(leader.source)
    kind = _kind(slot.source)
    if row is None or kind is None:
        return
    wanted = f"`fixture:{row.collection}.<field>`"
    own = fixture_source(slot.source)
    if own is None:
        message = f"{what}, but its source is of kind `{kind}`; expected {wanted}"
        yield _problem(template, INVALID, f"{place}.source", message)
        return
    if own.collection != row.collection:
        message = f"{what}, a row of `{row.collection}`, but its source names `{own.collection}`; expected {wanted}"
        yield _problem(template, INVALID, f"{place}.source", message)
    if slot.filter is not None:
        message = f"{what} and has a filter of its own; expected none, since the filter of `{leader.name}` holds"
        fix = f"move the condition to the filter of `{leader.name}`, or remove it"
        yield _problem(template, INVALID, f"{place}.filter", message, fix)


def _marker_faults(template: Template, field: str, name: str, value: Json) -> Iterator[Problem]:
    if not is_marker(value):
        if has_key(value, MARKER):
            message = f"argument `{name}`: `{MARKER}` stands below the top level of `args`; expected it at the top"
            yield _problem(template, INVALID, field, message, "move it up, so that it is the whole argument")
        return
    marker = read_marker(value)
    if marker is None:
        message = f"argument `{name}`: `{MARKER}` takes exactly `slot` and `field`, both text, and nothing beside it"
        yield _problem(template, INVALID, field, message, f"write `{{{MARKER}: {{slot: <slot>, field: <field>}}}}`")
        return
    what = f"argument `{name}` takes its row from `{marker.slot}`"
    slot = template.slots.get(marker.slot)
    if slot is None:
        fix = did_you_mean(marker.slot, template.slots)
        yield _problem(template, "unknown_slot", field, f"{what}, which is no slot of the template", fix)
        return
    if slot.same_row_as is not None:
        # Whether a call knows its row is asked of the slot that binds the row: one that follows may be withheld or not.
        message = f"{what}, which takes it from `{slot.same_row_as}`; expected the slot that draws the row"
        yield _problem(template, INVALID, field, message, f"write `slot: {slot.same_row_as}`")
        return
    yield from _leader_faults(template, slot, field, what)


def _leader_faults(template: Template, leader: Slot, place: str, what: str) -> Iterator[Problem]:
    kind = _kind(leader.source)
    if kind not in ("fixture", None):
        message = f"{what}, which binds no row: its source is of kind `{kind}`; expected a slot of kind `fixture`"
        yield _problem(template, INVALID, place, message)


def _kind(source: str) -> str | None:
    """The kind of a source, None where it does not parse, which the slot's own problem tells."""
    try:
        return parse_source(source).kind
    except BfclError:
        return None


def _problem(template: Template, code: str, field: str, message: str, fix: str | None = None) -> Problem:
    return Problem(code=code, subject=template.template_id, field=field, message=message, fix=fix)
