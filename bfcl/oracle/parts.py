"""Which parts does a state consist of, what is their text, and what is an assertion given of them?

The parts of a state are the values of its names: where a task changes one collection, the others need not be written
again. A state that is more than plain values has no parts and is told as a whole. Runs in the world beside pack code:
standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bfcl.oracle import wire
from bfcl.oracle.copies import copier
from bfcl.oracle.exact import exact_json, exact_pair, exact_within
from bfcl.oracle.pieces import Written, key_of
from bfcl.oracle.recall import Known, Recall

WIDEST = 64
"""Names from which on a state is one part: each costs as much as a small collection."""


class Alone:
    """A value of its own."""

    def __init__(self, plain: Any) -> None:
        """`plain` is what reads back from its text, and nobody else's."""
        self._plain, self._copy = plain, copier(plain)

    def take(self) -> Any:
        """What reads back from the text, as if nobody had been given it before."""
        return self._copy(self._plain)


class After:
    """A value that was written after a known one."""

    def __init__(self, known: Known, written: Written) -> None:
        self._known, self._written = known, written
        self._whole: Alone | None = None

    def take(self) -> Any:
        """As of `Alone`."""
        if self._whole is None:
            self._whole = Alone(self._written.rebuilt(self._known.take()))
        return self._whole.take()


class Part:
    """One part of a state. `name` is None where the whole state is one."""

    __slots__ = ("_giver", "key", "known", "label", "lesson", "name", "text")

    def __init__(self, name: str | None, key: bytes, known: Known | None) -> None:
        self.name, self.known = name, known
        self.key = key if known is None else b""
        """What tells an unknown one from others."""
        self.label = b"" if known is None else known.label
        """Its name as JSON, empty where the whole state is one part; once it is known or written, as is its text."""
        self.text = b"" if known is None else known.text
        self.lesson = self.key
        """The key, empty where it is not worth remembering: little differs from what is known."""
        self._giver: Known | Alone | After | None = known

    def write(self, value: Any, recall: Recall) -> None:
        """Make label and text of a part that is not known. Raises: NotJson."""
        nested = self.name is not None
        self.label = b"" if self.name is None else exact_json(self.name)
        like = recall.like(self.name, type(value)) if nested and _has_text_names(value) else None
        if like is None or like.pieces is None:
            self.text, plain = exact_within(value) if nested else exact_pair(value)
            self._giver = Alone(plain)
            return
        written = like.pieces.written(value)
        self.text, self._giver = written.text, After(like, written)
        if written.mostly_known:
            self.lesson = b""

    def take(self) -> Any:
        """The value as it reads back, as if nobody had been given it before; once it is known or written."""
        assert self._giver is not None
        return self._giver.take()


class Told:
    """A state that was told by its parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def take(self) -> Any:
        """As of `Alone`."""
        if len(self._parts) == 1 and self._parts[0].name is None:
            return self._parts[0].take()
        return {part.name: part.take() for part in self._parts}


def parts_of(state: Any, recall: Recall) -> list[Part] | None:
    """The parts in the order of the state's text; None where it has none."""
    if type(state) is not dict:
        return None
    whole = len(state) > WIDEST or not _has_text_names(state)
    named = [(None, state)] if whole else sorted(state.items())
    parts = []
    for name, value in named:
        try:
            key = key_of(value)
        except ValueError:
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


def _has_text_names(value: Any) -> bool:
    """Whether an object has no other names than texts, as its entries are then put in order by them."""
    return type(value) is not dict or all(type(name) is str for name in value)
