"""Which other elements could a list have? One fewer, one more, two in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from bfcl.authoring.probing.places import Place, field_of, leaves, lists, sampled, shown_place, with_value
from bfcl.authoring.probing.values import Values
from bfcl.canonical import Json, canonical_text
from bfcl.stages.divergence import shortened

ElementKind: TypeAlias = Literal["drop_element", "add_element", "reorder_list"]


class Whole(NamedTuple):
    """An answer or a state. Words name its places by `root`, and `within` says of what they are places."""

    value: Json
    root: str
    within: str = ""

    def shown(self, place: Place) -> str:
        return f"`{shown_place(self.root, place)}`{self.within}"


class Altered(NamedTuple):
    """A whole with one of its lists changed; `what` says it in words, `look_at` what would tell it."""

    kind: ElementKind
    what: str
    look_at: str
    value: Json


def altered(whole: Whole, values: Values) -> Iterator[Altered]:
    """For every list: an element dropped, one added, its first two that differ swapped."""
    for place, items in lists(whole.value):
        yield from resized(whole, place, items, values)
        yield from _reordered(whole, place, items)


def resized(whole: Whole, place: Place, items: Sequence[Json], values: Values) -> Iterator[Altered]:
    """The list at `place`, which holds `items`, with an element dropped, then with one added.

    Dropped are the first, the middle and the last: an assertion may read the ends and not what lies between.
    """
    shown = whole.shown(place)
    count = f"how many elements {shown} has (expected: {len(items)})" if items else f"that {shown} is empty"
    seen = set()
    for index in sampled(items):
        rest: list[Json] = [*items[:index], *items[index + 1 :]]
        if canonical_text(rest) not in seen:
            seen.add(canonical_text(rest))
            what = f"{whole.shown((*place, index))} is left out"
            yield Altered("drop_element", what, count, with_value(whole.value, place, rest))
    further = _further(place, items, values)
    what = f"{shown} has a further element {shortened(further)}"
    yield Altered("add_element", what, count, with_value(whole.value, place, [*items, further]))


def _further(place: Place, items: Sequence[Json], values: Values) -> Json:
    """The last element with one fact changed; for an empty list what the pack holds under its name."""
    field = field_of(place)
    if not items:
        return values.element(field)
    last = items[-1]
    for inside, fact in leaves(last):
        return with_value(last, inside, values.other(field_of(inside) or field, fact))
    return last


def _reordered(whole: Whole, place: Place, items: Sequence[Json]) -> Iterator[Altered]:
    for index in range(len(items) - 1):
        if canonical_text(items[index]) != canonical_text(items[index + 1]):
            swapped: list[Json] = [*items[:index], items[index + 1], items[index], *items[index + 2 :]]
            first, second = (shown_place(whole.root, (*place, at)) for at in (index, index + 1))
            what = f"`{second}` comes before `{first}`{whole.within}"
            look_at = f"the order of {whole.shown(place)}, if it matters"
            yield Altered("reorder_list", what, look_at, with_value(whole.value, place, swapped))
            return
