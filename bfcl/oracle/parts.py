"""Which parts does a state consist of, what is their text, and what is an assertion given of them?

The parts of a state are the values of its names: where a task changes one collection, the others need not be written
again. A state that is more than plain values has no parts and is told as a whole. Runs in the world beside pack code:
standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bfcl.oracle import wire
from bfcl.oracle.exact import decode, exact_json, exact_pair, exact_within
from bfcl.oracle.pieces import Written, key_of
from bfcl.oracle.recall import Known, Recall

WIDEST = 64
"""Names from which on a state is one part: each costs as much as a small collection."""


class Part:
    """One part of a state. `name` is None where the whole state is one."""

    __slots__ = ("_like", "_plain", "_written", "key", "known", "label", "name", "text")

    def __init__(self, name: str | None, key: bytes, known: Known | None) -> None:
        self.name, self.key, self.known = name, key, known
        self.label = b"" if name is None else exact_json(name)
        """Its name as JSON, empty where the whole state is one part."""
        self.text = b"" if known is None else known.text
        self._plain: list[Any] = []
        """What reads back from the text, to be given away once."""
        self._like: Known | None = None
        """A known part that this one was written after."""
        self._written: Written | None = None
        """How that was done."""

    @property
    def lesson(self) -> bytes:
        """Its key, where it is worth remembering: not where little of it differs from what is known."""
        return b"" if self._written is not None and self._written.mostly_known else self.key

    def write(self, value: Any, recall: Recall) -> None:
        """Make the text of a part that is not known. Raises: NotJson."""
        self._like = None if self.name is None or _has_odd_keys(value) else recall.like(self.name, type(value))
        if self._like is not None and self._like.pieces is not None:
            self._written = self._like.pieces.written(value)
            self.text = self._written.text
        else:
            self.text, plain = exact_pair(value) if self.name is None else exact_within(value)
            self._plain.append(plain)

    def take(self) -> Any:
        """The value as it reads back from the text, as if nobody had been given one before."""
        if self.known is not None:
            return self.known.take()
        if self._like is not None and self._written is not None:
            return self._written.rebuilt(self._like.take())
        return self._plain.pop() if self._plain else decode(self.text.decode())


class Told:
    """A state that was told."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def take(self) -> Any:
        """The state as it reads back, as if nobody had been given it before."""
        if len(self._parts) == 1 and self._parts[0].name is None:
            return self._parts[0].take()
        return {part.name: part.take() for part in self._parts}


class Alone:
    """A state that is known by its text alone."""

    def __init__(self, text: str, value: Any) -> None:
        """`value` is what reads back from the text, and nobody else's."""
        self._text, self._values = text, [value]

    def take(self) -> Any:
        """As of `Told`."""
        return self._values.pop() if self._values else decode(self._text)


def parts_of(state: Any, recall: Recall) -> list[Part] | None:
    """The parts in the order of the state's text; None where it has none."""
    if type(state) is not dict:
        return None
    whole = len(state) > WIDEST or not all(type(name) is str for name in state)
    named = [(None, state)] if whole else sorted(state.items())
    parts = []
    for name, value in named:
        key = key_of(value)
        if key is None:
            return None
        parts.append(Part(name, key, recall.find(name, key)))
    return parts


def record_of(parts: Sequence[Part]) -> tuple[bytes, int]:
    """What tells a state of these parts, and how long its text is."""
    data = b"".join(
        wire.new_part(part.label, part.text) if part.known is None else wire.known_part(part.known.number)
        for part in parts
    )
    if len(parts) == 1 and parts[0].name is None:
        return data, len(parts[0].text)
    return data, sum(len(part.label) + len(part.text) + 2 for part in parts) + (1 if parts else 2)


def _has_odd_keys(value: Any) -> bool:
    return type(value) is dict and not all(type(name) is str for name in value)
