"""How do parent, world and episode talk? Length-prefixed frames on pipes, typed records inside an answer.

Parent and world exchange frames: four bytes of length, then the payload. The first frame to a world is its start order
(JSON); then requests (JSON), answered in order. A world first reports (JSON, see `world.py`), then answers: eight bytes
of time taken, then a run of records, each one kind byte, four bytes of length, UTF-8 text. Never pickle.
Rule: pack.md §7.6.

This module runs on both sides: standard library only.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator

MESSAGE_LIMIT = 10 * 1024 * 1024
"""Bytes of one message, either direction."""

HEADER = struct.Struct("<I")
_RECORD = struct.Struct("<cI")
_TOOK = struct.Struct("<Q")
_NUMBER = struct.Struct("<Q")

RESULT = b"r"
ARGUMENTS = b"g"
"""Arguments of the call whose result follows, where dependent values were filled in."""
STATE = b"s"
ASSERTION = b"a"
BREAKDOWN = b"b"
DESCRIPTION = b"d"
GARBLED = b"?"
"""What the parent makes of an answer that cannot be read."""
ALSO = b"2"
"""What follows belongs to the next further run of the episode."""
STATE_PARTS = b"p"
"""A state told by its parts: the records KNOWN_PART and NEW_PART in the order of its text."""
KNOWN_PART = b"k"
"""Stands for a part that the world has told before, by its number."""
NEW_PART = b"n"
"""A part's name and text."""
SAME_STATE = b"="
"""Stands for the state that the same answer told before this."""
LEARNED = b"l"
"""At the end of an answer: numbers from now on of the new parts of its last state, 0 for none."""
FORGOTTEN = b"f"
"""After that: the numbers that mean nothing any more."""


Answer = tuple[tuple[bytes, bytes], ...]
"""The records of an answer in order, each its kind and its text."""


class Closed(Exception):
    """The other side is gone."""


def frame(payload: bytes) -> bytes:
    """The payload with its length before it."""
    return HEADER.pack(len(payload)) + payload


def record(kind: bytes, text: bytes) -> bytes:
    """One record of an answer."""
    return _RECORD.pack(kind, len(text)) + text


def numbers(values: Iterable[int]) -> bytes:
    """The text of a record that holds numbers."""
    return b"".join(map(_NUMBER.pack, values))


def read_numbers(text: bytes) -> list[int]:
    """The numbers of such a text. Raises ValueError where it is none."""
    if len(text) % _NUMBER.size:
        raise ValueError("a record that should hold numbers")
    return [number for (number,) in _NUMBER.iter_unpack(text)]


def known_part(number: int) -> bytes:
    """The record of a part that was told before."""
    return record(KNOWN_PART, _NUMBER.pack(number))


def new_part(label: bytes, text: bytes) -> bytes:
    """The record of a part that was not; `label` is its name as JSON, empty where it is the whole state."""
    return record(NEW_PART, HEADER.pack(len(label)) + label + text)


def read_parts(told: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, label and text of each part of a state: the number alone, or 0 and the others. Raises ValueError."""
    for kind, text in records(told):
        if kind == KNOWN_PART:
            (number,) = read_numbers(text)
            yield number, b"", b""
        elif kind == NEW_PART and len(text) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(text)[0]
            yield 0, text[HEADER.size : end], text[end:]
        else:
            raise ValueError("no part of a state")


def last_parts(answer: bytes) -> bytes | None:
    """What tells the last state of an answer by its parts; None where that is told otherwise, or none is."""
    told = None
    for kind, text in records(answer):
        if kind in (STATE, STATE_PARTS):
            told = text if kind == STATE_PARTS else None
    return told


def timed(took_ns: int, answer: bytes) -> bytes:
    """The payload that carries an answer: how long its episode took, then the answer."""
    return _TOOK.pack(took_ns) + answer


def untimed(payload: bytes) -> tuple[int, bytes]:
    """Nanoseconds and answer of such a payload. Raises ValueError where it is none."""
    if len(payload) < _TOOK.size:
        raise ValueError("an answer that does not say how long it took")
    return _TOOK.unpack_from(payload)[0], payload[_TOOK.size :]


def records(answer: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The records of an answer in order. Raises ValueError where the bytes are not whole records."""
    position = 0
    while position < len(answer):
        if position + _RECORD.size > len(answer):
            raise ValueError("an answer ends inside a record")
        kind, size = _RECORD.unpack_from(answer, position)
        position += _RECORD.size
        if position + size > len(answer):
            raise ValueError("an answer ends inside a record")
        yield kind, answer[position : position + size]
        position += size


class FrameReader:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> bytes | None:
        """The next whole frame's payload, or None until more bytes come."""
        buffer = self._buffer
        if len(buffer) < HEADER.size:
            return None
        end = HEADER.size + HEADER.unpack_from(buffer)[0]
        if len(buffer) < end:
            return None
        payload = bytes(buffer[HEADER.size : end])
        del buffer[:end]
        return payload


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte to a blocking descriptor. Raises Closed where nobody reads."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except (BrokenPipeError, ConnectionError):
            raise Closed from None
