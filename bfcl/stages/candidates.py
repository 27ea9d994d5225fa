"""Which values does one source offer, and where among them does a given value stand? Rule: generation.md §3.1."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bfcl.canonical import Json, canonical_text


@dataclass(frozen=True)  # without slots, for the cached property
class Candidates:
    """The values a source offers, in binding order. A range stays a `range`, so its length costs nothing."""

    values: Sequence[Json]
    refs: Sequence[str] | None = None
    """Fixture references beside the values: canonical JSON `["COLL","<id>"]`."""
    linked: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    """Other fields of the same rows, by name, beside the values."""

    def __len__(self) -> int:
        return len(self.values)

    def text(self, index: int) -> str:
        """Canonical JSON of a value: equality of values is equality of these, so `1`, `1.0` and `true` differ."""
        return canonical_text(self.values[index])

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for index, value in enumerate(self.values):
            places.setdefault(canonical_text(value), []).append(index)
        return places

    def places(self, text: str) -> list[int]:
        """Indexes of the values whose canonical JSON is `text`, ascending."""
        if not isinstance(self.values, range):
            return self._places.get(text, [])
        number = int(text) if re.fullmatch(r"-?[0-9]+", text) else None
        return [self.values.index(number)] if number is not None and number in self.values else []

    def multiplicities(self, other: Candidates) -> set[int] | None:
        """How often each of `other`'s values occurs here, as the set of counts; None where counting costs too much."""
        if isinstance(self.values, range) and self.values == other.values:
            return {1}
        if isinstance(other.values, range):
            return None
        return {len(self.places(text)) for text in other._places}

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return len(self.values) if isinstance(self.values, range) else len(self._places)
