"""How far is the running episode, and what has it answered so far? Shared memory that outlives the process writing it.

The episode notes the phase it enters and appends each finished record; its world waits without being woken and reads
the notes only when a deadline might have passed. What a killed episode had finished is not lost. The parent maps the
same memory, so it can tell which episode broke a whole world.

This module runs on both sides: standard library only.
"""

from __future__ import annotations

import mmap
import os
import struct
import time

from bfcl.oracle import wire

PHASES = ("import", "reset", "call", "state", "assertion", "done")
IMPORT, RESET, CALL, STATE, ASSERTION, DONE = range(6)
NO_INDEX = -1
RUN_SPAN = 1 << 20
"""Indexes of an episode's n-th further run start at n times this."""

_JOURNAL = 64
_RESERVE = 65_536
_LESSON = _JOURNAL + wire.MESSAGE_LIMIT + _RESERVE
_LESSON_LIMIT = 4 * 1024 * 1024
SIZE = _LESSON + _LESSON_LIMIT
"""Notes, the answer, and behind them what an episode has for its world alone."""

_EPISODE = struct.Struct("<Q")
_NOTE = struct.Struct("<QIi")  # start of the phase in ns, phase, index
_LENGTH = struct.Struct("<QI")  # committed bytes, 1 once whole
_BEGAN = struct.Struct("<Q")
_SIZE = struct.Struct("<I")  # of what was learned; 0 for nothing
_EPISODE_AT, _NOTE_AT, _LENGTH_AT, _BEGAN_AT, _PAGES_AT = 0, 8, 24, 40, 48

_ticks, _getpid = time.monotonic_ns, os.getpid  # taken before any pack code could replace them


class TooLarge(Exception):
    """The answer would pass the message limit."""


class Scratch:
    """One world's shared memory. One writer at a time: the running episode."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, SIZE)
        self._length = 0
        self._counted = 0
        """Bytes of the answer, what its records stand for included."""
        self._writer = _getpid()

    def claim(self) -> None:
        """From here on this process writes, and no copy that pack code forks off: what such a one writes is dropped."""
        self._writer = _getpid()

    def close(self) -> None:
        self._map.close()

    def _put(self, at: int, note: bytes) -> None:
        """Write a note whole. `pack_into` empties its place first: whoever reads then takes an episode for late."""
        self._map[at : at + len(note)] = note

    # --- the running episode -------------------------------------------------------------------------------------

    def enter(self, phase: int, index: int = NO_INDEX) -> None:
        """The episode enters a phase: `index` counts calls or assertions."""
        if self._writer == _getpid():
            self._put(_NOTE_AT, _NOTE.pack(_ticks(), phase, index))

    def append(self, kind: bytes, text: bytes, size: int | None = None) -> None:
        """One finished record. Raises TooLarge past the message limit; a breakdown always has room.

        `size` is that of what the record stands for: whether an answer is too large must not hang on what is known.
        """
        if self._writer != _getpid():
            return
        data = wire.record(kind, text)
        counted = self._counted + (len(data) if size is None else len(data) - len(text) + size)
        if counted > wire.MESSAGE_LIMIT + (_RESERVE if kind == wire.BREAKDOWN else 0):
            raise TooLarge
        end = self._length + len(data)
        self._map[_JOURNAL + self._length : _JOURNAL + end] = data
        self._length, self._counted = end, counted
        self._put(_LENGTH_AT, _LENGTH.pack(end, 0))

    def teach(self, lesson: bytes) -> None:
        """What the episode has for its world, instead of what it had before; nothing where there is no room for it."""
        if self._writer != _getpid():
            return
        start = _LESSON + _SIZE.size
        fits = start + len(lesson) <= SIZE
        if fits and lesson:
            self._map[start : start + len(lesson)] = lesson
        self._put(_LESSON, _SIZE.pack(len(lesson) if fits else 0))

    def finish(self) -> None:
        """The answer is whole."""
        if self._writer != _getpid():
            return
        self._put(_LENGTH_AT, _LENGTH.pack(self._length, 1))
        self.enter(DONE)

    # --- whoever runs pack code ----------------------------------------------------------------------------------

    def note_page(self) -> None:
        """Pack code looked at a page for people; stays noted as long as the world lives."""
        self._map[_PAGES_AT] = 1

    def saw_pages(self) -> bool:
        return self._map[_PAGES_AT] != 0

    # --- its world, and the parent --------------------------------------------------------------------------------

    def begin(self, episode: int) -> None:
        """Before an episode starts: nothing answered, its clock running."""
        self._length = self._counted = 0
        self._put(_LENGTH_AT, _LENGTH.pack(0, 0))
        self._put(_LESSON, _SIZE.pack(0))
        self._put(_BEGAN_AT, _BEGAN.pack(_ticks()))
        self.enter(RESET)
        self._put(_EPISODE_AT, _EPISODE.pack(episode))

    def episode(self) -> int:
        """Number of the running episode in its world, from 1; 0 before the first."""
        return int(_EPISODE.unpack_from(self._map, _EPISODE_AT)[0])

    def note(self) -> tuple[int, int, int]:
        """`(start in ns, phase, index)` of the phase entered last."""
        started, phase, index = _NOTE.unpack_from(self._map, _NOTE_AT)
        return started, min(phase, DONE), index

    def began(self) -> int:
        """When the running episode began, in ns."""
        return int(_BEGAN.unpack_from(self._map, _BEGAN_AT)[0])

    def lesson(self) -> bytes:
        """What the episode taught; empty for nothing, and for what is impossible."""
        size = _SIZE.unpack_from(self._map, _LESSON)[0]
        start = _LESSON + _SIZE.size
        return self._map[start : start + size] if start + size <= SIZE else b""

    def answer(self) -> tuple[bytes, bool]:
        """The records committed so far, and whether the answer is whole. Raises TooLarge on an impossible length."""
        length, whole = _LENGTH.unpack_from(self._map, _LENGTH_AT)
        if length > wire.MESSAGE_LIMIT + _RESERVE:
            raise TooLarge
        return self._map[_JOURNAL : _JOURNAL + length], bool(whole)
