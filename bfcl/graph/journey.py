"""What became of one task: its row in every stage table, and whether it was published. Rule: generation.md §3, §8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nsmallest
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeVar

from bfcl.errors import ConfigError, DriftError, Problem, raise_all
from bfcl.graph.layout import RunTree
from bfcl.pack.layout import shown
from bfcl.records.balance import BalancedTask
from bfcl.records.ids import TaskId
from bfcl.records.plan import Plan
from bfcl.records.quality import SurfaceQuality
from bfcl.records.surface import Surface
from bfcl.records.task import Task
from bfcl.records.trace import Trace
from bfcl.records.verdict import ReplayVerdict, SchemaVerdict
from bfcl.release.read import TableName, open_release
from bfcl.stages import stage_named
from bfcl.tables.benchmark import BenchmarkRow
from bfcl.tables.codec import (
    BALANCED,
    PLANS,
    QUALITIES,
    REPLAY_VERDICTS,
    SCHEMA_VERDICTS,
    SURFACES,
    TASKS,
    TRACES,
    Codec,
    Row,
)
from bfcl.tables.drops import read_templates
from bfcl.tables.parquet import read_rows

LATER: Final = ("state_machine", "render", "expected_trace", "schema_validation", "executable_replay")
"""Stages with a row for every task that `expand` bound, in pipeline order."""

SELECTING: Final = ("surface_quality", "dedup_balancing")
"""Stages that not every run has, with a row for what is left of the tasks when they are reached."""

_LISTED: Final = 10
_CLOSE: Final = 3

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Where a published run holds the task; `row` is its published row, else its raw one, None where it has neither."""

    raw: bool
    published: bool
    row: BenchmarkRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """One task's records; None where a stage has no row for it (yet)."""

    run: RunTree
    also_in: tuple[RunTree, ...]
    """Further runs that know the task."""
    task: Task
    plan: Plan | None
    surface: Surface | None
    trace: Trace | None
    schema: SchemaVerdict | None
    replay: ReplayVerdict | None
    quality: SurfaceQuality | None
    balance: BalancedTask | None
    publication: Publication | None
    """None without a manifest: nothing is published then."""
    rows: Mapping[str, Row | None]
    """Stage name to the row as stored: `expand` and `LATER`, and of `SELECTING` what the run has."""
    tables: frozenset[str]
    """Stages whose table is there at all."""


def table_path(run: RunTree, stage: str) -> Path:
    """Where a stage's table lies."""
    return run.stage_cache / stage_named(stage).writes[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A task, the run it is read from, and the runs that know it as well."""

    task_id: TaskId
    run: RunTree
    position: int
    """Its row in `task_instances`."""
    also_in: tuple[RunTree, ...]


def find_task(runs: Sequence[RunTree], asked: str) -> Found:
    """The task that `asked` names: an id, or a prefix or suffix that only one id has; in the first run that knows it.

    Raises: ConfigError `unknown_task_id`, `ambiguous_task_id`; DriftError on a damaged table where the task is in no
    other run.
    """
    positions: dict[RunTree, dict[TaskId, int]] = {}
    problems: list[Problem] = []
    for run in runs:
        try:
            ids = read_templates(table_path(run, "expand"))
        except DriftError as error:
            problems += error.problems
            continue
        positions[run] = {task_id: position for position, task_id in enumerate(ids)}
    known = list(dict.fromkeys(chain.from_iterable(positions.values())))
    matching = [TaskId(asked)] if asked in known else [task_id for task_id in known if _is_meant(asked, task_id)]
    if len(matching) != 1:
        raise_all(DriftError, problems)
        raise ConfigError(_ambiguous(runs, asked, matching) if matching else _unknown(runs, asked, known))
    (task_id,) = matching
    first, *others = (run for run in positions if task_id in positions[run])
    return Found(task_id=task_id, run=first, position=positions[first][task_id], also_in=tuple(others))


def _is_meant(asked: str, task_id: TaskId) -> bool:
    return task_id.startswith(asked) or task_id.endswith(asked) or task_id.rpartition("__")[2].startswith(asked)


def read_journey(found: Found) -> Journey:
    """Read every table of a run for one task.

    Raises: DriftError on a damaged table; ReleaseError on a damaged publication.
    """
    run = found.run
    row = _row(table_path(run, "expand"), found.task_id, found.position)
    if row is None:
        raise ConfigError(_unknown([run], found.task_id, ()))
    tables = frozenset(stage for stage in ("expand", *LATER, *SELECTING) if table_path(run, stage).is_file())
    rows: dict[str, Row | None] = {"expand": row}
    for stage in LATER:
        rows[stage] = _row(table_path(run, stage), found.task_id, found.position) if stage in tables else None
    for stage in SELECTING:
        if stage in tables:
            rows[stage] = _row(table_path(run, stage), found.task_id, found.position)
    replay = _record(REPLAY_VERDICTS, rows["executable_replay"])
    return Journey(
        run=run,
        also_in=found.also_in,
        task=TASKS.from_row(row),
        plan=_record(PLANS, rows["state_machine"]),
        surface=_record(SURFACES, rows["render"]),
        trace=_record(TRACES, rows["expected_trace"]),
        schema=_record(SCHEMA_VERDICTS, rows["schema_validation"]),
        replay=replay,
        quality=_record(QUALITIES, rows.get("surface_quality")),
        balance=_record(BALANCED, rows.get("dedup_balancing")),
        publication=_publication(run, found.task_id),
        rows=rows,
        tables=tables,
    )


def _row(path: Path, task_id: str, index: int) -> Row | None:
    """The task's row: at the same position in every table of one build, so looked for there first."""
    artifact = path.stem
    for row in islice(read_rows(path, artifact), index, index + 1):
        if row["task_id"] == task_id:
            return row
    return next((row for row in read_rows(path, artifact) if row["task_id"] == task_id), None)


def _record(codec: Codec[Record], row: Row | None) -> Record | None:
    return None if row is None else codec.from_row(row)


def _publication(run: RunTree, task_id: str) -> Publication | None:
    if not run.manifest.is_file():
        return None
    release = open_release(run.root)

    def row(table: TableName) -> BenchmarkRow | None:
        return next((row for row in release.rows(table) if row["task_id"] == task_id), None)

    published = row("published")
    raw = published or row("raw")
    # Every published row is a raw row as well: publication proved it.
    return Publication(raw=raw is not None, published=published is not None, row=raw)


def _ambiguous(runs: Sequence[RunTree], asked: str, ids: Sequence[str]) -> Problem:
    return Problem(
        code="ambiguous_task_id",
        subject=asked,
        message=f"{len(ids)} tasks of {_told(runs)} begin or end with it: {_listing(ids)}",
        fix="give more of the id",
    )


def _unknown(runs: Sequence[RunTree], asked: str, ids: Sequence[str]) -> Problem:
    close = close_ids(asked, ids)
    return Problem(
        code="unknown_task_id",
        subject=asked,
        message=f"none of the {len(ids)} tasks of {_told(runs)} has this id, or begins or ends with it",
        fix=f"did you mean {_listing(close)}?"
        if close
        else "`bfcl trace TEMPLATE_ID` lists the ids of a template's tasks; another run is named with `--run`",
    )


def _told(runs: Sequence[RunTree]) -> str:
    names = ", ".join(shown(run.root) for run in runs)
    return names if len(runs) == 1 else f"{len(runs)} runs ({names})"


def close_ids(asked: str, ids: Iterable[str]) -> list[str]:
    """At most three ids a person may have meant, best first.

    Stems (pack and template) are compared first, as there are few; then ids by their common beginning. Comparing
    100,000 whole ids would take a minute.
    """
    by_stem: dict[str, list[str]] = {}
    for task_id in ids:
        by_stem.setdefault(task_id.rpartition("__")[0], []).append(task_id)
    wanted = asked.rpartition("__")[0] or asked
    holding = sorted((stem for stem in by_stem if wanted in stem), key=lambda stem: (len(stem), stem))
    stems = holding or get_close_matches(wanted, sorted(by_stem), _CLOSE)
    near = ((rank, -_common(asked, task_id), task_id) for rank, stem in enumerate(stems) for task_id in by_stem[stem])
    return [task_id for _, _, task_id in nsmallest(_CLOSE, near)]


def _common(one: str, other: str) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))


def _listing(ids: Sequence[str]) -> str:
    rest = len(ids) - _LISTED
    return ", ".join(f"`{task_id}`" for task_id in ids[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
