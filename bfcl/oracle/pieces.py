"""What of a list or an object is as it was, so that only what differs is written down anew?

A value is cut into pieces of a few entries, and a piece is known by its `marshal` bytes: by those that tell which
values are one object, or where a pack makes its texts and numbers anew, by those that do not. Runs in the world beside
pack code: standard library only.
"""

from __future__ import annotations

import marshal
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from bfcl.oracle.exact import decode, exact_within

SIZE = 16
"""Entries of a piece: as many are written anew for one that differs."""

_SHARING = 4
"""A format of `marshal` that tells equal objects from one object: its bytes take half the time."""
_PLAIN = 2
"""The last format whose bytes depend on values alone."""


def key_of(value: Any) -> bytes:
    """What a value is known by: equal keys mean equal text. Raises: ValueError where it is more than plain values.

    Equal values may have different keys: where one has an object twice and the other two objects, or where somebody
    else holds an object of one as well.
    """
    return marshal.dumps(value, _SHARING)


def plain_key_of(value: Any) -> bytes:
    """The same with equal keys for all equal values, in twice the time. Raises: ValueError."""
    return marshal.dumps(value, _PLAIN)


class Pieces:
    """The pieces of one value: their keys, their texts, and for an object the first name of each."""

    __slots__ = ("_ends", "_firsts", "_keys", "_plain_keys", "_texts", "kind")

    def __init__(self, value: list[Any] | dict[str, Any]) -> None:
        self.kind = type(value)
        entries = _in_order(value)
        self._firsts = [entries[at][0] for at in range(0, len(entries), SIZE)] if self.kind is dict else []
        cut = list(self._cut(entries))
        keys = [key_of(piece) for piece in cut]
        # One object to look at, since every look at an object is a page that an episode has to copy.
        self._keys = b"".join(keys)
        self._ends = [0, *accumulate(map(len, keys))]
        self._plain_keys = [plain_key_of(piece) for piece in cut]
        self._texts = [_text_of(self.kind, piece) for piece in cut]

    def written(self, value: Any) -> Written:
        """The text of another value of this kind, which stands one level deep in a state. Raises: NotJson."""
        texts, same, names = [], [], []
        for place, piece in enumerate(self._cut(_in_order(value))):
            known = place < len(self._texts) and self._is(piece, place)
            texts.append(self._texts[place] if known else _text_of(self.kind, piece))
            same.append(known)
            names.append([entry[0] for entry in piece] if self.kind is dict else [])
        text = b",".join(filter(None, texts))
        return Written(b"[" + text + b"]" if self.kind is list else b"{" + text + b"}", texts, same, names)

    def _is(self, piece: Sequence[Any], place: int) -> bool:
        try:
            key = key_of(piece)
            start, end = self._ends[place : place + 2]
            if len(key) == end - start and self._keys.startswith(key, start):
                return True
            return plain_key_of(piece) == self._plain_keys[place]
        except ValueError:
            return False

    def _cut(self, entries: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """The entries piece by piece, those of an object so that one more or less moves no others to another piece."""
        if self.kind is list:
            places = [*range(0, len(entries) or 1, SIZE)]
        else:
            names = [entry[0] for entry in entries]
            places = [0, *(bisect_left(names, first) for first in self._firsts[1:])]
        for start, end in zip(places, [*places[1:], len(entries)], strict=True):
            yield entries[start:end]


class Written(NamedTuple):
    """A value as its pieces were written."""

    text: bytes
    texts: Sequence[bytes]
    same: Sequence[bool]
    """Of each piece whether it is the known value's."""
    names: Sequence[Sequence[str]]
    """Of each piece of an object."""

    @property
    def mostly_known(self) -> bool:
        return sum(self.same) * 2 > len(self.same)

    def rebuilt(self, whole: Any) -> Any:
        """What reads back from the text; `whole` is what does from the known value's, and is not used otherwise."""
        if isinstance(whole, list):
            pieces = self._pieces()
            return [
                item
                for place, same in enumerate(self.same)
                for item in (whole[place * SIZE : (place + 1) * SIZE] if same else next(pieces))
            ]
        made: dict[str, Any] = {}
        for names, text, same in zip(self.names, self.texts, self.same, strict=True):
            made |= {name: whole[name] for name in names} if same else decode(f"{{{text.decode()}}}")
        return made

    def _pieces(self) -> Iterator[list[Any]]:
        """Those of a list that are not the known value's."""
        for text, same in zip(self.texts, self.same, strict=True):
            if not same:
                yield decode(f"[{text.decode()}]")


def pieces_of(value: Any) -> Pieces | None:
    """Those of an exact JSON value; None where it is better written as a whole."""
    return Pieces(value) if type(value) in (list, dict) and len(value) > SIZE else None


def _in_order(value: Any) -> Sequence[Any]:
    """The entries of a list, or the items of an object in the order of its text."""
    return value if type(value) is list else sorted(value.items())


def _text_of(kind: type, piece: Sequence[Any]) -> bytes:
    """What stands for a piece between the brackets of the whole. Raises: NotJson."""
    return exact_within(list(piece) if kind is list else dict(piece))[0][1:-1]
