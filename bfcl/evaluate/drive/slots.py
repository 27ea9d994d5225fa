"""Which values did a published row bind? Found by expanding its template again, and proved by the row's own id.

A row does not carry its slots, and its words are no safe source of them. A task's id is a digest of everything it
binds: the one that a template yields anew under the run's seed and budget either has it or is another task. Nothing is
guessed. Rule: evaluation.md §7, §17.3; generation.md §3.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bfcl.canonical import Json
from bfcl.errors import StageError
from bfcl.exports.row import ExportRow
from bfcl.pack.model import Pack
from bfcl.records.ids import TemplateId
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.stages.bindings import Sources, sources_of
from bfcl.stages.expand import ExpandSettings, allocate, expand_template, pool_sizes
from bfcl.stages.held_out_bindings import bindable_templates
from bfcl.stages.task_identity import identity_of

FIELDS: Final = ("slots", "slots_initial", "slot_updates")
"""Of the task that an assertion sees: all that hangs on what a row bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecovered:
    """Why the slots of a row are unknown, and the names that its template gives them where it is known."""

    why: str
    slots: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()


def recover(pack: Pack, manifest: Mapping[str, Json], rows: Sequence[ExportRow]) -> dict[str, Task | Unrecovered]:
    """By task id, the task of each row as expansion bound it, or why it is not to be had.

    `manifest` is the release's: its global seed and candidate budget decide what a template binds. One template at a
    time is expanded, as far as the budget goes, and only tasks of the rows are kept.
    """
    settings = _settings(pack, manifest)
    if settings is None:
        gone = Unrecovered(why="the run manifest does not state the seed and candidate budget of the run")
        return {row.task_id: _named(pack, row, gone) for row in rows}
    wanted: dict[str, list[ExportRow]] = {}
    for row in rows:
        wanted.setdefault(row.published["template_id"], []).append(row)
    sources = sources_of(pack)
    positions = _positions(pack, sources, settings)
    templates = {template.template_id: template for template in pack.templates}
    found: dict[str, Task | Unrecovered] = {}
    for template_id, theirs in wanted.items():
        template = templates.get(TemplateId(template_id))
        offered = positions.get(TemplateId(template_id), 0)
        bound = _bound(template, sources, settings, offered) if template is not None else {}
        for row in theirs:
            found[row.task_id] = _proved(row, bound.get(_base(row)), settings.seed) or _named(pack, row, _LOST)
    return found


_LOST: Final = Unrecovered(why="no task that the template binds has the row's id, seed and fixture references")


def unresolved(task: Task | Unrecovered) -> dict[str, Json]:
    """The `unresolved_*` lists that an assertion sees: names of slots, all empty where the task is known."""
    lost = task if isinstance(task, Unrecovered) else Unrecovered(why="")
    return {
        "unresolved_slots": list(lost.slots),
        "unresolved_slots_initial": list(lost.slots),
        "unresolved_slot_updates": list(lost.corrected),
    }


def _settings(pack: Pack, manifest: Mapping[str, Json]) -> ExpandSettings | None:
    seeds, targets = manifest.get("seeds"), manifest.get("bias_targets")
    if not isinstance(seeds, Mapping) or not isinstance(targets, Mapping):
        return None
    seed, limit = seeds.get("global"), targets.get("candidate_tasks_per_category")
    if type(seed) is not int or type(limit) is not int or limit < 1:
        return None
    return ExpandSettings(limit=limit, seed=seed, pack_id=pack.manifest.pack_id, pack_version=pack.manifest.version)


def _positions(pack: Pack, sources: Sources, settings: ExpandSettings) -> dict[TemplateId, int]:
    """How many tasks of each template the run binds: always the first of its pool."""
    free = bindable_templates(pack.templates, pack.held_out)
    sizes = pool_sizes(free, sources, settings).sizes
    counts: dict[TemplateId, int] = {}
    for template_id, position in allocate([one for one in free if one.template_id in sizes], sizes, settings.limit):
        counts[template_id] = max(counts.get(template_id, 0), position + 1)
    return counts


def _bound(template: Template, sources: Sources, settings: ExpandSettings, count: int) -> dict[str, Task]:
    try:
        return {task.task_id: task for task in expand_template(template, sources, settings, range(count))}
    except StageError:
        # A template that does not bind any more gave no row either: what there is of rows stays unproved.
        return {}


def _proved(row: ExportRow, task: Task | None, seed: int) -> Task | None:
    """The task, if it is the row's: its id is a digest of all that it binds."""
    if task is None:
        return None
    published = row.published
    identity = replace(identity_of(task), variant_index=published["variant_index"])
    same = (
        identity.task_id == row.task_id
        and identity.seed(seed) == published["seed"]
        and list(task.fixture_refs) == list(published["fixture_refs"])
    )
    return task if same else None


def _base(row: ExportRow) -> str:
    """The id of the task that a row is a variant of."""
    return str(row.metadata["base_task_id"])


def _named(pack: Pack, row: ExportRow, lost: Unrecovered) -> Unrecovered:
    template = next((one for one in pack.templates if one.template_id == row.published["template_id"]), None)
    if template is None:
        return lost
    return replace(lost, slots=tuple(sorted(template.slots)), corrected=tuple(sorted(set(_corrected(template)))))


def _corrected(template: Template) -> Iterator[str]:
    for turn in template.user_simulator_turns:
        for update in turn.slot_updates:
            yield update.slot
