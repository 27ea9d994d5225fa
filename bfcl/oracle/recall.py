"""Has this part of a state been written down before? Then its text is known and need not be made and checked anew.

Most episodes change little of the state they began with, and turning a state into checked JSON is most of what a small
episode costs. A part is known by its `marshal` bytes: these tell `1`, `1.0` and `true` apart and stand for nothing but
plain values, so equal bytes mean equal text. Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import gc
import marshal
from collections.abc import Callable
from typing import Any

from bfcl.oracle import wire
from bfcl.oracle.copies import Leaves, copier
from bfcl.oracle.exact import decode, exact_json
from bfcl.oracle.pieces import Pieces, key_of, pieces_of

KEPT = 48
"""Parts that a world remembers: those of the untouched state, and a few that its last tasks made."""

ROOM = 8 * 1024 * 1024
"""Bytes of keys and texts remembered."""


class Known:
    """What one part was found to be."""

    __slots__ = ("_copy", "_plain", "key", "label", "name", "number", "pieces", "text", "uses")

    def __init__(self, number: int, name: str | None, key: bytes, text: bytes) -> None:
        self.number, self.name, self.key, self.text = number, name, key, text
        self.label = b"" if name is None else exact_json(name)
        self.uses = 0
        self.pieces: Pieces | None = None
        self._plain: Any = None
        """What reads back from the text, where it is kept ready; nobody is given it but in copies."""
        self._copy: Callable[[Any], Any] | None = None

    @property
    def ready(self) -> bool:
        return self._copy is not None

    def prepare(self, leaves: Leaves) -> None:
        """Keep the value ready from here on."""
        self._plain = leaves.sharing(decode(self.text.decode()))
        self._copy = copier(self._plain)
        if self.name is None:
            return  # a whole state is never compared piece by piece
        own = marshal.loads(self.key)
        shared = leaves.sharing(own)
        # Pieces are found by their quick keys where they have the same objects as those of an episode.
        self.pieces = pieces_of(shared if key_of(shared) == self.key else own)

    def release(self) -> None:
        """Keep it ready no longer."""
        self._plain, self._copy, self.pieces = None, None, None

    def take(self) -> Any:
        """The value, as if nobody had been given it before."""
        return decode(self.text.decode()) if self._copy is None else self._copy(self._plain)


class Recall:
    """The parts a world remembers. Each episode has its own copy of it."""

    def __init__(self, leaves: Leaves) -> None:
        """Values kept ready share their leaves with what `leaves` knows: an episode has written to those anyway."""
        self._leaves = leaves
        self._known: dict[int, Known] = {}
        """By number, the one used last at the end."""
        self._named: dict[str | None, list[Known]] = {}
        self._count = 0
        self._size = 0
        self._usual: bytes | None = None
        """What tells the state that ended the last episode, where all is known of it and ready."""

    def find(self, name: str | None, key: bytes) -> Known | None:
        """What is known of the part of this name with this key."""
        return next((known for known in reversed(self._named.get(name, ())) if known.key == key), None)

    def like(self, name: str | None, kind: type) -> Known | None:
        """A part of this name whose pieces are known."""
        known = self._named.get(name, ())
        return next((one for one in reversed(known) if one.pieces is not None and one.pieces.kind is kind), None)

    def take_in(self, told: bytes, lesson: bytes) -> bytes:
        """What an episode told of its last state; the records that tell the parent.

        `lesson` has the keys of the new parts, empty for one that is not to be remembered.
        """
        if told == self._usual:
            return b""
        new = []
        for number, label, text in wire.read_parts(told):
            if number:
                self.used(number)
            else:
                new.append((None if not label else decode(label.decode()), text))
        keys = [key for _, key in wire.records(lesson)]
        if not new:
            self._usual = told if all(known.ready for known in self._of(told)) else None
        if not new or len(keys) != len(new):
            return b""
        self._usual = None
        numbers, forgotten = [], []
        for (name, text), key in zip(new, keys, strict=True):
            number, gone = self.learn(name, key, text) if key else (0, [])
            numbers.append(number)
            forgotten += gone
        learned = wire.record(wire.LEARNED, wire.numbers(numbers))
        return learned + (wire.record(wire.FORGOTTEN, wire.numbers(forgotten)) if forgotten else b"")

    def _of(self, told: bytes) -> list[Known]:
        return [self._known[number] for number, _, _ in wire.read_parts(told)]

    def used(self, number: int) -> None:
        """An episode ended in a state with this part: more will, so its value is made once for all of them."""
        known = self._known[number]
        if known.ready:
            return
        self._known[number] = self._known.pop(number)
        self._named[known.name].remove(known)
        self._named[known.name].append(known)
        known.uses += 1
        before = next((one for one in self._named[known.name] if one.ready), None)
        # One that comes no oftener than the other is not worth the change: they may come by turns.
        if known.uses > (1 if before is None else 2 * before.uses):
            if before is not None:
                before.release()
            known.prepare(self._leaves)
            # What is never collected is never written to by an episode's collector either.
            gc.freeze()

    def learn(self, name: str | None, key: bytes, text: bytes) -> tuple[int, list[int]]:
        """Remember a part in place of those that were of use longest ago: its number, and theirs."""
        self._count += 1
        self._known[self._count] = known = Known(self._count, name, key, text)
        self._named.setdefault(name, []).append(known)
        self._size += len(key) + len(text)
        forgotten = []
        while len(self._known) > KEPT or self._size > ROOM:
            oldest = next(iter(self._known))
            forgotten.append(self._forget(next((one for one, known in self._known.items() if not known.ready), oldest)))
        return self._count, forgotten

    def _forget(self, number: int) -> int:
        known = self._known.pop(number)
        self._named[known.name].remove(known)
        if not self._named[known.name]:
            del self._named[known.name]
        self._size -= len(known.key) + len(known.text)
        return number
