"""Has this state been written down before? Then its text is known and need not be made and checked anew.

Most episodes end in the state they began with, and turning it into checked JSON is most of what a small episode costs.
A state is known by its `marshal` bytes: these tell `1`, `1.0` and `true` apart and stand for nothing but plain values,
so equal bytes mean equal text. Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import marshal
from typing import Any, NamedTuple

KEPT = 8
"""States a world remembers: the untouched one and a few that its last tasks made."""

_PLAIN = 2
"""The last format of `marshal` whose bytes depend on values alone, and not on which of them are the same object."""


class Known(NamedTuple):
    """What one state was found to be."""

    number: int
    text: bytes
    """Its canonical JSON."""
    copy: bytes
    """The value read back from that, as `copied` gives it."""


class Recall:
    """The states a world remembers, the one used last at the end. Each episode has its own copy of it."""

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}
        self._count = 0

    def find(self, key: bytes | None) -> Known | None:
        """What is known of the state with this key."""
        return None if key is None else self._known.get(key)

    def used(self, number: int) -> None:
        """An episode ended in this state."""
        for key, known in self._known.items():
            if known.number == number:
                self._known[key] = self._known.pop(key)
                return

    def learn(self, key: bytes, text: bytes, copy: bytes) -> None:
        """Remember a state in place of the one that was of use longest ago."""
        self._count += 1
        self._known[key] = Known(self._count, text, copy)
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]


def key_of(state: Any) -> bytes | None:
    """What a state is known by; None for one that is more than plain values."""
    try:
        return marshal.dumps(state, _PLAIN)
    except ValueError:
        return None


def copied(plain: Any) -> bytes:
    """Bytes that `fresh` makes new values of, again and again."""
    return marshal.dumps(plain)


def fresh(copy: bytes) -> Any:
    """New values that nobody else holds, in a third of the time that parsing their text takes."""
    return marshal.loads(copy)
