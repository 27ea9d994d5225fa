"""Which instances does a template's pool hold, in which order? Rule: generation.md §3.1, §3.9.

A pool can be as large as the candidate budget while a run selects a few of it, so it is a formula: its size and any one
member are computed without listing the others. Only corrections whose drawn values overlap unevenly force a pool to be
listed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_bytes
from bfcl.records.ids import TemplateId
from bfcl.records.template import Template
from bfcl.stages.candidates import Candidates
from bfcl.stages.row_links import Linked


def permutation(material: bytes, count: int) -> tuple[int, int]:
    """(start, step) of the order `(start + k * step) % count` that canonical JSON `material` fixes."""
    if count == 1:
        return 0, 1
    digest = sha256_bytes(material)
    start = int.from_bytes(digest[:8]) % count
    step = int.from_bytes(digest[8:16]) % count or 1
    while math.gcd(step, count) != 1:
        step = (step + 1) % count or 1
    return start, step


class Key(NamedTuple):
    """One thing a pool binds: a slot, or a slot's correction by a simulator entry."""

    slot: str
    candidates: Candidates
    entry: int | None = None
    alias: str | None = None
    base: int | None = None
    """Corrections only: index of the key whose value is in force until then."""
    linked: Sequence[Linked] = ()
    """What else is bound from the row of the chosen candidate."""


class _Level:
    """How the combinations over the keys so far extend by one key: which earlier combination, which candidate."""

    def __init__(self, pool: Pool, position: int, before: int) -> None:
        self._pool = pool
        self._key = pool.keys[position]
        self._before = before
        self._uniform = self._uniform_count()
        self._ends: list[int] = []
        if self._uniform is not None:
            total = before * self._uniform
        else:
            self._ends = list(accumulate(self._count(position, index) for index in range(before)))
            total = self._ends[-1]
        self.size = min(total, pool.limit)
        self._whole = total <= pool.limit
        self._rounds: list[tuple[int, int]] = []
        if not self._whole:
            seed: dict[str, Json] = {"template_id": pool.template_id, "seed": pool.seed, "position": position}
            self._start, self._step = permutation(canonical_json({"seed": seed, "kind": "combinations"}), before)
            self._material = b',"kind":"candidates","seed":' + canonical_json(seed) + b"}"
            if self._uniform is None:
                self._rounds = self._listed(position)

    def at(self, position: int) -> tuple[int, int]:
        """(combination, ordinal among its candidates) at a position."""
        if self._whole:
            if self._uniform is not None:
                return divmod(position, self._uniform)
            combination = bisect_right(self._ends, position)
            return combination, position - (self._ends[combination - 1] if combination else 0)
        if self._uniform is None:
            return self._rounds[position]
        turn, place = divmod(position, self._before)
        combination = (self._start + place * self._step) % self._before
        return combination, self._candidate(combination, turn, self._uniform)

    def candidate(self, ordinal: int, chosen: Sequence[int]) -> int:
        """The candidate index behind an ordinal, passing over what equals the value in force."""
        for place in self._dropped(chosen):
            ordinal += place <= ordinal
        return ordinal

    def _candidate(self, combination: int, turn: int, count: int) -> int:
        start, step = permutation(b'{"combination":%d' % combination + self._material, count)
        return (start + turn * step) % count

    def _listed(self, position: int) -> list[tuple[int, int]]:
        """All positions of an uneven level: round after round, passing over exhausted combinations."""
        open_ = [(self._start + place * self._step) % self._before for place in range(self._before)]
        counts = {combination: self._count(position, combination) for combination in open_}
        found: list[tuple[int, int]] = []
        turn = 0
        while len(found) < self.size:
            open_ = [combination for combination in open_ if counts[combination] > turn]
            for combination in open_[: self.size - len(found)]:
                found.append((combination, self._candidate(combination, turn, counts[combination])))
            turn += 1
        return found

    def _uniform_count(self) -> int | None:
        """How many candidates every combination has, None where that differs or is costly to know."""
        total = len(self._key.candidates)
        if self._key.base is None:
            return total
        equal = self._key.candidates.multiplicities(self._pool.keys[self._key.base].candidates)
        if equal is None:
            return None
        counts = {total if each == total else total - each for each in equal}
        return counts.pop() if len(counts) == 1 else None

    def _count(self, position: int, combination: int) -> int:
        chosen = self._pool.chosen(position, combination)
        return len(self._key.candidates) - len(self._dropped(chosen))

    def _dropped(self, chosen: Sequence[int]) -> Sequence[int]:
        """Ascending indexes equal to the value in force, none where that would drop all."""
        if self._key.base is None:
            return ()
        in_force = self._pool.keys[self._key.base].candidates.text(chosen[self._key.base])
        equal = self._key.candidates.places(in_force)
        return () if len(equal) == len(self._key.candidates) else equal


class Pool:
    """The instances of one template in order: for each, the candidate index of every key."""

    def __init__(self, keys: Sequence[Key], *, limit: int, seed: int, template_id: TemplateId) -> None:
        self.keys = tuple(keys)
        self.limit = limit
        self.seed = seed
        self.template_id = template_id
        self._levels: list[_Level] = []
        size = 1
        for position in range(len(self.keys)):
            self._levels.append(_Level(self, position, size))
            size = self._levels[-1].size
        self._size = size
        self._kept: list[tuple[int, ...]] | None = None
        corrections = [key for key in self.keys if key.base is not None]
        if corrections and all(key.candidates.distinct == 1 for key in corrections):
            # Only a correction that offers one value can repeat the value in force.
            every = (self.chosen(len(self.keys), index) for index in range(size))
            self._kept = [chosen for chosen in every if self._changes(chosen)]
            self._size = len(self._kept)

    def chosen(self, depth: int, index: int) -> tuple[int, ...]:
        """The candidate indexes of the first `depth` keys of the combination at `index` of that depth."""
        ordinals = [0] * depth
        for position in range(depth - 1, -1, -1):
            index, ordinals[position] = self._levels[position].at(index)
        chosen: list[int] = []
        for position, ordinal in enumerate(ordinals):
            chosen.append(self._levels[position].candidate(ordinal, chosen))
        return tuple(chosen)

    def _changes(self, chosen: Sequence[int]) -> bool:
        return any(
            key.candidates.text(chosen[index]) != self.keys[key.base].candidates.text(chosen[key.base])
            for index, key in enumerate(self.keys)
            if key.base is not None
        )

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> tuple[int, ...]:
        if not 0 <= index < self._size:
            raise IndexError(index)
        return self.chosen(len(self.keys), index) if self._kept is None else self._kept[index]


class LastPool:
    """Keeps the pool built last: the chunks of one template ask for it one after another."""

    def __init__(self) -> None:
        self._built: tuple[Template, Pool] | None = None

    def of(self, template: Template, *, limit: int, seed: int, build: Callable[[], Pool]) -> Pool:
        """The pool of a template under a budget and seed, built where the last one was another's."""
        if self._built is not None:
            drawn, pool = self._built
            if (pool.limit, pool.seed) == (limit, seed) and drawn == template:
                return pool
        pool = build()
        self._built = (template, pool)
        return pool
