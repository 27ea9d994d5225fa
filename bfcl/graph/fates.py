"""What became of every task of one template: published, dropped where and why, or how far did it come?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bfcl.canonical import Json
from bfcl.errors import DriftError, Problem, raise_all
from bfcl.graph.journey import LATER, SELECTING, table_path
from bfcl.graph.layout import RunTree
from bfcl.graph.passage import FINAL
from bfcl.records.ids import TaskId, TemplateId
from bfcl.release.read import open_release
from bfcl.tables.drops import VERDICTS, read_dropped, read_templates
from bfcl.tables.parquet import read_rows

PUBLISHED: Final = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """How one task ended. `open`: nothing dropped it, and nothing is published that could hold it."""

    task_id: TaskId
    stage: str
    """The last stage it reached: for a dropped task the one that dropped it."""
    outcome: Literal["published", "dropped", "open"]
    reason: str | None = None
    """Of a drop: its codes, joined by a comma."""

    def to_json(self) -> dict[str, Json]:
        return {"task_id": self.task_id, "stage": self.stage, "outcome": self.outcome, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """The tasks of a template in one run, in task order."""

    run: RunTree
    also_in: tuple[RunTree, ...]
    """Further runs that have tasks of this template."""
    template_id: TemplateId
    tasks: tuple[Fate, ...]


def template_fates(runs: Sequence[RunTree], asked: str) -> Fates | None:
    """The tasks of the template that `asked` names, by its id or by `<pack_id>__<template_id>`; None where none does.

    The first run that has the template is read. A task of exactly that id comes first, and so does the single task
    of a template that is named with its pack: then None as well. Raises: DriftError on a damaged table where no other
    run has the template; ReleaseError on a damaged publication.
    """
    found: list[tuple[RunTree, TemplateId, list[TaskId]]] = []
    problems: list[Problem] = []
    for run in runs:
        try:
            templates = read_templates(table_path(run, "expand"))
        except DriftError as error:
            problems += error.problems
            continue
        if asked in templates:
            return None
        ids = [task_id for task_id, template_id in templates.items() if _is_named(asked, task_id, template_id)]
        if ids:
            found.append((run, templates[ids[0]], ids))
    if not found:
        raise_all(DriftError, problems)
        return None
    (run, template_id, ids), *others = found
    if asked != template_id and len(ids) == 1:
        return None
    return Fates(
        run=run,
        also_in=tuple(other for other, _, _ in others),
        template_id=template_id,
        tasks=tuple(_fates(run, ids)),
    )


def _is_named(asked: str, task_id: TaskId, template_id: TemplateId) -> bool:
    return asked == template_id or (asked == task_id.rpartition("__")[0] and asked.endswith(f"__{template_id}"))


def _fates(run: RunTree, ids: Sequence[TaskId]) -> Iterator[Fate]:
    dropped = _drops(run, ids)
    left = [task_id for task_id in ids if task_id not in dropped]
    ends = _published(run, left) if run.manifest.is_file() else _reached(run, left)
    for task_id in ids:
        yield dropped[task_id] if task_id in dropped else ends[task_id]


def _drops(run: RunTree, ids: Sequence[TaskId]) -> dict[TaskId, Fate]:
    """Each dropped task where it was dropped first: later stages only repeat it."""
    asked, found = set(ids), dict[TaskId, Fate]()
    for verdicts in VERDICTS:
        path = table_path(run, verdicts.stage)
        for task_id, reason in read_dropped(path, verdicts) if path.is_file() else ():
            if task_id in asked:
                fate = Fate(task_id=task_id, stage=verdicts.stage, outcome="dropped", reason=reason)
                found.setdefault(task_id, fate)
    return found


def _published(run: RunTree, ids: Sequence[TaskId]) -> Mapping[TaskId, Fate]:
    release = open_release(run.root)
    published, raw = (read_templates(release.path(table)) for table in ("published", "raw"))

    def fate(task_id: TaskId) -> Fate:
        if task_id in published:
            return Fate(task_id=task_id, stage=FINAL, outcome="published")
        reason = "not_selected" if task_id in raw else "not_in_raw"
        return Fate(task_id=task_id, stage=FINAL, outcome="dropped", reason=reason)

    return {task_id: fate(task_id) for task_id in ids}


def _reached(run: RunTree, ids: Sequence[TaskId]) -> Mapping[TaskId, Fate]:
    """The last stage that has a row for each task, of a run that published nothing."""
    reached = dict.fromkeys(ids, "expand")
    for stage in (*LATER, *SELECTING) if ids else ():
        path = table_path(run, stage)
        if path.is_file():
            reached.update(
                (TaskId(row["task_id"]), stage) for row in read_rows(path, path.stem) if row["task_id"] in reached
            )
    return {task_id: Fate(task_id=task_id, stage=stage, outcome="open") for task_id, stage in reached.items()}
