"""Which tasks does a template yield, in which order, with which ids and seeds? Rule: generation.md §3.1, §3.9.

A template's pool can be as large as the candidate budget while a run selects a few of it, so a pool is a formula: its
size and any one member are computed without listing the others. Only corrections whose drawn values overlap unevenly
force a pool to be listed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import sha256_bytes, sha256_hex
from bfcl.errors import Problem, StageError, raise_all
from bfcl.records.ids import TaskId, TemplateId
from bfcl.records.task import SlotDelivery, Task
from bfcl.records.template import Template
from bfcl.stages.bindings import Candidates, Sources, has_corrections, slot_problems
from bfcl.stages.state_machine import delivery_order

__all__ = [
    "ExpandSettings",
    "Pool",
    "Sources",
    "allocate",
    "budget_problems",
    "duplicate_problems",
    "expand_template",
    "permutation",
    "pool_size",
    "slot_problems",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandSettings:
    """`limit` is the candidate budget of a category, at least 1; `seed` is `random_seed or 0`."""

    limit: int
    seed: int
    pack_id: str
    pack_version: str


def pool_size(template: Template, sources: Sources, settings: ExpandSettings) -> int:
    """How many instances the template offers, at most `limit`.

    Raises: StageError with all `slot_problems`, or `slot_correction_declaration_invalid` where no instance is left.
    """
    return len(_pool(template, sources, settings))


def expand_template(template: Template, sources: Sources, settings: ExpandSettings, take: range) -> list[Task]:
    """The tasks at positions `take` of the template's pool, in that order.

    Raises: StageError as `pool_size` does, and `duplicate_task_id` where two of them bind the same.
    """
    pool = _pool(template, sources, settings)
    tasks = [_task(template, settings, _bound(pool.keys, pool[position])) for position in take]
    raise_all(StageError, duplicate_problems(tasks))
    return tasks


def duplicate_problems(tasks: Iterable[Task]) -> list[Problem]:
    """One problem for each task whose id an earlier one has. Rule: generation.md §3.1."""
    seen: set[TaskId] = set()
    problems = []
    for task in tasks:
        if task.task_id in seen:
            bound = canonical_text(task.slots_initial)
            problems.append(
                Problem(
                    code="duplicate_task_id",
                    subject=task.template_id,
                    message=f"two tasks bind {bound} from the same rows and share the id `{task.task_id}`",
                    fix="remove the repeated value, or filter the slots so that no two bindings are equal",
                )
            )
        seen.add(task.task_id)
    return problems


def allocate(
    templates: Sequence[Template], sizes: Mapping[TemplateId, int], limit: int
) -> list[tuple[TemplateId, int]]:
    """The global task order: (template, position in its pool).

    Categories in order of first appearance; within one a pass takes one task a template, until `limit` or exhaustion.
    """
    categories: dict[str, list[TemplateId]] = {}
    for template in templates:
        categories.setdefault(template.category, []).append(template.template_id)
    order: list[tuple[TemplateId, int]] = []
    for members in categories.values():
        end = len(order) + limit
        position = 0
        left = members
        while left and len(order) < end:
            left = [template_id for template_id in left if sizes[template_id] > position]
            order += [(template_id, position) for template_id in left[: end - len(order)]]
            position += 1
    return order


def budget_problems(templates: Sequence[Template], tasks_per_category: int) -> list[Problem]:
    """One problem for each category with more templates than its budget has tasks. Rule: pack.md §11, check 7."""
    counts: dict[str, int] = {}
    for template in templates:
        counts[template.category] = counts.get(template.category, 0) + 1
    widest = max(counts.values(), default=0)
    return [
        Problem(
            code="category_budget_too_small",
            subject="task_generation.tasks_per_category",
            field="task_generation.tasks_per_category",
            message=f"category `{category}` has {count} templates, but its budget is {tasks_per_category} tasks",
            fix=f"set `task_generation.tasks_per_category` to at least {widest}",
        )
        for category, count in counts.items()
        if count > tasks_per_category
    ]


# --- pools ----------------------------------------------------------------------------------------------------------


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


def _pool(template: Template, sources: Sources, settings: ExpandSettings) -> Pool:
    kept = sources.kept
    if isinstance(kept, _Kept) and kept.settings == settings and kept.template == template:
        return kept.pool
    raise_all(StageError, slot_problems(template, sources))
    pool = Pool(_keys(template, sources), limit=settings.limit, seed=settings.seed, template_id=template.template_id)
    if not pool:
        message = "no drawn correction changes a value; expected one instance at least that does"
        raise StageError(
            Problem(
                code="slot_correction_declaration_invalid",
                subject=template.template_id,
                field="user_simulator_turns",
                message=message,
                fix="draw the replacement from a source that differs from the slot's own",
            )
        )
    sources.kept = _Kept(template, settings, pool)
    return pool


class _Kept(NamedTuple):
    """The pool built last: the chunks of one template ask for it one after another."""

    template: Template
    settings: ExpandSettings
    pool: Pool


def _keys(template: Template, sources: Sources) -> list[Key]:
    """Slots by name, then corrections in delivery order, those of one entry by slot name."""
    keys: list[Key] = []
    in_force: dict[str, int] = {}
    for name in sorted(template.slots):
        slot = template.slots[name]
        in_force[name] = len(keys)
        keys.append(Key(name, sources.resolve(slot.source, slot.filter).candidates))
    if not has_corrections(template):
        return keys
    for entry in delivery_order(template):
        for update in sorted(template.user_simulator_turns[entry].slot_updates, key=lambda each: each.slot):
            candidates = sources.resolve(update.source, update.filter).candidates
            key = Key(update.slot, candidates, entry, update.bind_as, in_force[update.slot])
            in_force[update.slot] = len(keys)
            keys.append(key)
    return keys


# --- tasks ----------------------------------------------------------------------------------------------------------


class _Bound(NamedTuple):
    """What one instance binds: first-turn values, corrections in delivery order, both by binding name, references."""

    initial: dict[str, Json]
    updates: tuple[SlotDelivery, ...]
    bindings: dict[str, Json]
    references: set[str]


def _bound(keys: Sequence[Key], chosen: Sequence[int]) -> _Bound:
    initial: dict[str, Json] = {}
    bindings: dict[str, Json] = {}
    values: dict[int, dict[str, Json]] = {}
    aliases: dict[int, dict[str, Json]] = {}
    references: set[str] = set()
    for (slot, candidates, entry, alias, _), index in zip(keys, chosen, strict=True):
        value = candidates.values[index]
        if candidates.refs is not None:
            references.add(candidates.refs[index])
        if entry is None:
            initial[slot] = bindings[slot] = value
            continue
        bindings[f"{slot}@correction{entry}"] = value
        values.setdefault(entry, {})[slot] = value
        named = aliases.setdefault(entry, {})
        if alias is not None:
            named[alias] = value
    updates = tuple(
        SlotDelivery(entry_index=entry, values=changed, aliases=aliases[entry]) for entry, changed in values.items()
    )
    return _Bound(initial, updates, bindings, references)


def _task(template: Template, settings: ExpandSettings, bound: _Bound) -> Task:
    final = bound.initial
    for update in bound.updates:
        final = {**final, **update.values}
    refs = tuple(sorted(bound.references))
    identity: dict[str, Json] = {
        "pack_id": settings.pack_id,
        "pack_version": settings.pack_version,
        "template_id": template.template_id,
        "fixture_refs": refs,
        "slot_bindings": bound.bindings,
        "variant_index": 0,
    }
    digest = sha256_hex(canonical_json(identity))
    identity["global_seed"] = settings.seed
    task_id = TaskId(f"{settings.pack_id}__{template.template_id}__{digest[:16]}")
    return Task(
        task_id=task_id,
        base_task_id=task_id,
        template_id=template.template_id,
        pack_id=settings.pack_id,
        pack_version=settings.pack_version,
        intent=template.intent,
        category=template.category,
        difficulty=template.difficulty,
        turn_policy=template.turn_policy,
        call_order=template.call_order,
        call_order_prefix=template.call_order_prefix,
        variant_index=0,
        seed=int.from_bytes(sha256_bytes(canonical_json(identity))[:8]),
        mutates=template.mutates,
        required_tools=template.required_tools,
        tools_present=template.tools_present,
        success_assertions=template.success_assertions,
        edge_signatures=template.edge_signatures,
        fixture_refs=refs,
        slots=final,
        slots_initial=bound.initial,
        slot_updates=bound.updates,
    )
