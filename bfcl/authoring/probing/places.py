"""Where inside a JSON value do single facts stand, and what is the value with one of them changed?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from bfcl.canonical import Json, canonical_text

Place: TypeAlias = tuple[str | int, ...]
"""Keys and list indexes from the root."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Absent:
    """Stands for "no value there"."""

    __slots__ = ()


ABSENT: Final = Absent()


class Change(NamedTuple):
    """One place at which two values differ. Either side may be absent, never both."""

    place: Place
    before: Json | Absent
    after: Json | Absent


def shown_place(root: str, place: Place) -> str:
    """`root.key[0].other`, keys that are no identifiers as `["K-1"]`."""
    text = root
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _NAME.match(part):
            text += f".{part}" if text else part
        else:
            text += f"[{canonical_text(part)}]"
    return text


def field_of(place: Place) -> str:
    """The innermost key that leads to a place; empty where none does."""
    return next((part for part in reversed(place) if isinstance(part, str)), "")


def leaves(value: Json, place: Place = ()) -> Iterator[tuple[Place, Json]]:
    """Every scalar with its place, objects in key order; of a list what `sampled` takes."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from leaves(value[key], (*place, key))
    elif isinstance(value, list | tuple):
        for index in sampled(value):
            yield from leaves(value[index], (*place, index))
    else:
        yield place, value


def lists(value: Json, place: Place = ()) -> Iterator[tuple[Place, list[Json]]]:
    """Every list with its place, outer ones first, objects in key order; inside a list what `sampled` takes."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from lists(value[key], (*place, key))
    elif isinstance(value, list | tuple):
        yield place, list(value)
        for index in sampled(value):
            yield from lists(value[index], (*place, index))


def sampled(items: Sequence[Json]) -> list[int]:
    """The indexes that stand for a list: first, middle and last. A long list would crowd out everything else."""
    return sorted({0, len(items) // 2, len(items) - 1}) if items else []


def changes(before: Json, after: Json, place: Place = ()) -> Iterator[Change]:
    """Every place at which two values differ, in key order.

    An object's member that came or went is one change, and so is a list's tail. A list that grew elsewhere than at its
    end is one change as a whole: which element is new, only its owner knows.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            if key not in before or key not in after:
                yield Change((*place, key), before.get(key, ABSENT), after.get(key, ABSENT))
            else:
                yield from changes(before[key], after[key], (*place, key))
    elif isinstance(before, list) and isinstance(after, list) and _aligned(before, after):
        for index in range(min(len(before), len(after))):
            yield from changes(before[index], after[index], (*place, index))
        for index in range(len(before), len(after)):
            yield Change((*place, index), ABSENT, after[index])
    elif canonical_text(before) != canonical_text(after):
        yield Change(place, before, after)


def _aligned(before: list[Json], after: list[Json]) -> bool:
    """Whether elements of equal index mean the same thing: nothing came or went, or only at the end."""
    if len(before) == len(after):
        return True
    return len(before) < len(after) and canonical_text(before) == canonical_text(after[: len(before)])


def value_at(root: Json, place: Place) -> Json | Absent:
    """What stands at a place, or absent."""
    value = root
    for part in place:
        if isinstance(value, Mapping) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return ABSENT
    return value


def with_value(root: Json, place: Place, value: Json | Absent) -> Json:
    """A copy of `root` with the value at `place` replaced, or removed where `value` is absent."""
    if not place:
        if isinstance(value, Absent):
            raise ValueError("a whole value cannot be removed")
        return value
    first, rest = place[0], place[1:]
    if isinstance(root, Mapping):
        copy: dict[str, Json] = dict(root)
        key = str(first)
        if not rest and isinstance(value, Absent):
            copy.pop(key)
        else:
            copy[key] = with_value(copy.get(key), rest, value)
        return copy
    if isinstance(root, list | tuple) and isinstance(first, int):
        items = list(root)
        if not rest and isinstance(value, Absent):
            del items[first]
        else:
            items[first] = with_value(items[first], rest, value)
        return items
    raise ValueError(f"no value at {place!r}")
