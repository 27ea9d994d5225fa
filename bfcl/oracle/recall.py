"""Has this state been written down before? Then its text is known and need not be made and checked anew.

Most episodes end in the state they began with, and turning it into checked JSON is most of what a small episode costs.
A state is known by its `marshal` bytes: these tell `1`, `1.0` and `true` apart and stand for nothing but plain values,
so equal bytes mean equal text. Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import gc
import marshal
from typing import Any

KEPT = 8
"""States a world remembers: the untouched one and a few that its last tasks made."""

SHARED = 2
"""States whose values are kept ready."""

_PLAIN = 2
"""The last format of `marshal` whose bytes depend on values alone, and not on which of them are the same object."""


class Known:
    """What one state was found to be."""

    __slots__ = ("copy", "number", "shared", "text")

    def __init__(self, number: int, text: bytes, copy: bytes) -> None:
        self.number = number
        self.text = text
        """Its canonical JSON."""
        self.copy = copy
        """The value read back from that, as `copied` gives it."""
        self.shared: tuple[Any, bytes] | None = None
        """That value, of which every episode has its own copy by having been forked, and its key."""


class Recall:
    """The states a world remembers, the one used last at the end. Each episode has its own copy of it."""

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}
        self._count = 0

    def find(self, key: bytes | None) -> Known | None:
        """What is known of the state with this key."""
        return None if key is None else self._known.get(key)

    def used(self, number: int) -> None:
        """An episode ended in this state: more will, so its value is made once for all of them."""
        for key, known in self._known.items():
            if known.number == number:
                self._known[key] = self._known.pop(key)
                if known.shared is None:
                    self._share(known)
                return

    def learn(self, key: bytes, text: bytes, copy: bytes) -> tuple[int, int]:
        """Remember a state in place of the one that was of use longest ago; their numbers, 0 for none."""
        self._count += 1
        self._known[key] = Known(self._count, text, copy)
        forgotten = 0
        if len(self._known) > KEPT:
            forgotten = self._known.pop(next(iter(self._known))).number
        return self._count, forgotten

    def _share(self, known: Known) -> None:
        value = fresh(known.copy)
        key = key_of(value)
        assert key is not None
        known.shared = value, key
        # Every page that a world holds makes each fork dearer.
        for other in [one for one in self._known.values() if one.shared is not None][:-SHARED]:
            other.shared = None
        # What is never collected is never written to by an episode's collector either.
        gc.freeze()


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
