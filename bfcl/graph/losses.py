"""Which templates lost tasks on the way, where, and why? So that no run publishes less than was asked and stays silent.

Rule: generation.md §8, §11.9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.graph.store import Store
from bfcl.records.ids import TaskId, TemplateId
from bfcl.stages import stage_named
from bfcl.tables.drops import VERDICTS, Dropped, read_dropped, read_templates

NOT_SELECTED: Final = "balance_quota"
"""The reason of a task that nothing is wrong with: balancing had enough of its kind."""

_EXPANDED: Final = "expand"
_TABLES: Final = {name: stage_named(name).writes[0] for name in (_EXPANDED, *(verdicts.stage for verdicts in VERDICTS))}
"""Stage to the table that says what it dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Tasks of one template that one stage dropped for one reason."""

    template_id: TemplateId
    stage: str
    reason: str
    tasks: int
    of: int
    """Tasks the template had to begin with."""
    example: TaskId
    """The first of them in task order, for `bfcl trace`."""

    @property
    def is_choice(self) -> bool:
        """Whether these tasks were merely not selected: more were made than are published."""
        return self.reason == NOT_SELECTED

    def to_json(self) -> dict[str, Json]:
        return {
            "template_id": self.template_id,
            "stage": self.stage,
            "reason": self.reason,
            "tasks": self.tasks,
            "of": self.of,
            "example": self.example,
        }


def losses(
    templates: Mapping[TaskId, TemplateId], dropped: Iterable[tuple[str, Iterable[Dropped]]]
) -> tuple[Loss, ...]:
    """What was lost, the template that lost most first, then by template, stage order and reason.

    `dropped` gives the stages in pipeline order; a task counts where it was dropped first, since later stages only
    repeat it. A task of no template here is of another build and does not count.
    """
    had = Counter(templates.values())
    gone: set[TaskId] = set()
    tasks: dict[tuple[TemplateId, int, str, str], list[TaskId]] = {}
    for position, (stage, drops) in enumerate(dropped):
        fresh = [drop for drop in drops if drop.task_id in templates and drop.task_id not in gone]
        for drop in fresh:
            tasks.setdefault((templates[drop.task_id], position, stage, drop.reason), []).append(drop.task_id)
        gone.update(drop.task_id for drop in fresh)
    lost = Counter(templates[task_id] for task_id in gone)
    ranked = sorted(tasks.items(), key=lambda item: (-lost[item[0][0]], item[0]))
    return tuple(
        Loss(template_id=key[0], stage=key[2], reason=key[3], tasks=len(ids), of=had[key[0]], example=ids[0])
        for key, ids in ranked
    )


def read_losses(tables: Mapping[str, Path]) -> tuple[Loss, ...]:
    """What the tables of one run say was lost. `tables` maps a stage to its Parquet file; stages may be missing.

    Raises: DriftError `table_unreadable`.
    """
    if _EXPANDED not in tables:
        return ()
    present = [verdicts for verdicts in VERDICTS if verdicts.stage in tables]
    return losses(
        read_templates(tables[_EXPANDED]),
        ((verdicts.stage, read_dropped(tables[verdicts.stage], verdicts)) for verdicts in present),
    )


def stored_losses(store: Store, results: Mapping[str, str]) -> tuple[Loss, ...] | None:
    """What was lost in the stages whose results have these addresses, None where the tasks themselves are gone.

    `results` maps stage names to addresses; stages that drop nothing are passed over, and so are results that the
    store holds no more. Raises: DriftError `build_cache_tampered`, `table_unreadable`.
    """
    entries = {stage: store.find(results[stage]) for stage in _TABLES if stage in results}
    tables = {stage: entry.file(_TABLES[stage]) for stage, entry in entries.items() if entry is not None}
    return read_losses(tables) if _EXPANDED in tables else None


def worst_templates(found: Sequence[Loss], limit: int = 3) -> list[str]:
    """A line for each of the templates that lost most, and one for the rest; empty where nothing was lost.

    What was merely not selected is no loss, and counts in a line of its own.
    """
    by_template: dict[TemplateId, list[Loss]] = {}
    for loss in found:
        if not loss.is_choice:
            by_template.setdefault(loss.template_id, []).append(loss)
    ranked = sorted(by_template.values(), key=lambda own: -sum(loss.tasks for loss in own))
    lines = [_line(own) for own in ranked[:limit]]
    rest = ranked[limit:]
    if rest:
        tasks = sum(loss.tasks for own in rest for loss in own)
        templates = "1 more template" if len(rest) == 1 else f"{len(rest)} more templates"
        lines.append(f"  and {templates} with {tasks:,}: `bfcl build-report` lists them")
    spare = [loss for loss in found if loss.is_choice]
    if spare:
        tasks = sum(loss.tasks for loss in spare)
        good = "1 good task" if tasks == 1 else f"{tasks:,} good tasks"
        of = "1 template" if len(spare) == 1 else f"{len(spare)} templates"
        lines.append(f"  not selected, as there were enough: {good} of {of}")
    return lines


def _line(own: Sequence[Loss]) -> str:
    lost = sum(loss.tasks for loss in own)
    why = ", ".join(f"{loss.tasks:,} {loss.reason} in {loss.stage}" for loss in own)
    return f"  {own[0].template_id}: {lost:,} of {own[0].of:,} dropped: {why}"
