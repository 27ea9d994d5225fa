"""Which tasks does a template yield, in which order, with which ids and seeds? Rule: generation.md §3.1, §3.9."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bfcl.canonical import Json, canonical_text
from bfcl.config.model import RunConfig
from bfcl.errors import Problem, StageError, raise_all
from bfcl.pack.model import HeldOut, Manifest
from bfcl.records.ids import TaskId, TemplateId
from bfcl.records.task import SlotDelivery, Task
from bfcl.records.template import Template
from bfcl.stages.bindings import Sources
from bfcl.stages.held_out_bindings import bindable_templates, emptied_categories, short_categories
from bfcl.stages.pool import Key, Pool
from bfcl.stages.row_links import row_links
from bfcl.stages.slot_problems import has_corrections, slot_problems
from bfcl.stages.state_machine import delivery_order
from bfcl.stages.task_identity import TaskIdentity, bound_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandSettings:
    """`limit` is the candidate budget of a category, at least 1; `seed` is `random_seed or 0`."""

    limit: int
    seed: int
    pack_id: str
    pack_version: str


def settings_of(config: RunConfig, manifest: Manifest) -> ExpandSettings:
    """The settings of a run."""
    return ExpandSettings(
        limit=config.task_generation.candidate_tasks_per_category,
        seed=config.seed,
        pack_id=manifest.pack_id,
        pack_version=manifest.version,
    )


class Selection(NamedTuple):
    """What a run binds."""

    templates: tuple[Template, ...]
    """Those that may be bound, in pack order."""
    order: list[tuple[TemplateId, int]]
    """Every task: its template and its position in the template's pool."""


def select(
    templates: Sequence[Template],
    held_out: HeldOut | None,
    sources: Sources,
    settings: ExpandSettings,
    tasks_per_category: int,
) -> Selection:
    """Decide which tasks a run binds. `sources` hide the rows that `held_out` reserves.

    Raises: StageError with every problem of every template (see `pool_size`) and, under a policy, every
    `held_out_binding_starved`. Rule: generation.md §3.1.
    """
    free = bindable_templates(templates, held_out)
    sizes, problems = pool_sizes(free, sources, settings)
    order = allocate([one for one in free if one.template_id in sizes], sizes, settings.limit)
    if held_out is not None:
        bound = bound_tasks(free, sizes, settings.limit)
        problems += emptied_categories(templates, held_out)
        problems += short_categories(templates, held_out, sources, bound, tasks_per_category)
    raise_all(StageError, problems)
    return Selection(free, order)


class PoolSizes(NamedTuple):
    """How many instances templates offer, as far as they bind, and what is wrong with the others."""

    sizes: dict[TemplateId, int]
    problems: list[Problem]


def pool_sizes(templates: Sequence[Template], sources: Sources, settings: ExpandSettings) -> PoolSizes:
    """The pool size of each template that binds, and every problem of the others."""
    found = PoolSizes({}, [])
    for template in templates:
        try:
            found.sizes[template.template_id] = pool_size(template, sources, settings)
        except StageError as error:
            found.problems.extend(error.problems)
    return found


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


def bound_tasks(templates: Sequence[Template], sizes: Mapping[TemplateId, int], limit: int) -> dict[str, int]:
    """How many tasks each category binds within `limit`. `templates` may be bound.

    A category with a template that `sizes` lacks is left out: it is short for that reason, which is told already.
    """
    found: dict[str, int] = {}
    for template in templates:
        found[template.category] = found.get(template.category, 0) + sizes.get(template.template_id, 0)
    faulty = {template.category for template in templates if template.template_id not in sizes}
    return {category: min(count, limit) for category, count in found.items() if category not in faulty}


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
    """One problem for each category with more templates than its budget has tasks. Rule: pack.md §11, check 7.

    `templates` are those that generation may bind: see `bindable_templates`.
    """
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


def _pool(template: Template, sources: Sources, settings: ExpandSettings) -> Pool:
    def build() -> Pool:
        return _built(template, sources, settings)

    return sources.last_pool.of(template, limit=settings.limit, seed=settings.seed, build=build)


def _built(template: Template, sources: Sources, settings: ExpandSettings) -> Pool:
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
    return pool


def _keys(template: Template, sources: Sources) -> list[Key]:
    """Slots by name, then corrections in delivery order, those of one entry by slot name.

    A slot that takes its row from another has no key of its own: it comes with the candidates of that one.
    """
    links = row_links(template)
    keys: list[Key] = []
    in_force: dict[str, int] = {}
    for name in sorted(template.slots):
        slot = template.slots[name]
        if slot.same_row_as is not None:
            continue
        in_force[name] = len(keys)
        keys.append(Key(name, sources.resolve(*links.draw(name, slot)).candidates, linked=links.of(name)))
    if not has_corrections(template):
        return keys
    for entry in delivery_order(template):
        for update in sorted(template.user_simulator_turns[entry].slot_updates, key=lambda each: each.slot):
            candidates = sources.resolve(*links.draw(update.slot, update)).candidates
            key = Key(
                update.slot, candidates, entry, update.bind_as, in_force[update.slot], linked=links.of(update.slot)
            )
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
    for (slot, candidates, entry, alias, _, linked), index in zip(keys, chosen, strict=True):
        value = candidates.values[index]
        if candidates.refs is not None:
            references.add(candidates.refs[index])
        row = {slot: value, **{one.name: candidates.linked[one.field][index] for one in linked}}
        if entry is None:
            initial.update(row)
            bindings.update(row)
            continue
        bindings.update((bound_at(name, entry), new) for name, new in row.items())
        values.setdefault(entry, {}).update(row)
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
    identity = TaskIdentity(
        pack_id=settings.pack_id,
        pack_version=settings.pack_version,
        template_id=template.template_id,
        fixture_refs=refs,
        bindings=bound.bindings,
    )
    task_id = identity.task_id
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
        seed=identity.seed(settings.seed),
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
