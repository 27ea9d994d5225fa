"""Where do two JSON values differ, leaf by leaf?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bfcl.canonical import Json, canonical_text

_SHOWN_CHARACTERS = 120


class Difference(NamedTuple):
    """The path of a value, and what is told of it."""

    path: tuple[str, ...]
    told: str

    @property
    def field(self) -> str:
        return ".".join(self.path)


def differences(seen: Json, wanted: Json, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every value below `path` that is missing, not expected or another, by key; a list is told as a whole."""
    if isinstance(seen, Mapping) and isinstance(wanted, Mapping):
        for name in sorted(seen.keys() | wanted.keys()):
            inner = (*path, name)
            if name not in seen:
                yield Difference(inner, f"is missing, expected {shown(wanted[name])}")
            elif name not in wanted:
                yield Difference(inner, f"is {shown(seen[name])}, expected nothing of that name")
            else:
                yield from differences(seen[name], wanted[name], inner)
    elif canonical_text(seen) != canonical_text(wanted):
        yield Difference(path, f"is {shown(seen)}, expected {shown(wanted)}")


def shown(value: Json) -> str:
    """Canonical JSON, cut where it is long."""
    text = canonical_text(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
