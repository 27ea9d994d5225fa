"""`bfcl build-report`: what did the last doit invocation compute, and what did it reuse? Rule: generation.md §9.7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

import click

from bfcl.canonical import Json
from bfcl.cli.place import project_root
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, json_option, print_json
from bfcl.errors import DriftError, Problem
from bfcl.graph.evidence import Action, invocations, read_invocation, started
from bfcl.graph.layout import BuildTree
from bfcl.graph.losses import Loss, stored_losses
from bfcl.graph.store import Store
from bfcl.pack.layout import shown
from bfcl.stages import STAGES

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)

_ORDER: Final = ("config", "prepare", "gold_gate", *(stage.name for stage in STAGES), "publish")
_NAMED_SHARDS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWork:
    """What one task did. `seconds` is wall time, None where the task did not note its start."""

    task: str
    seconds: float | None
    shards: Mapping[str, int]
    """Action to number of shards."""
    results: tuple[str, ...]
    """Actions on the stage's own result (its merge), in order."""
    computed: tuple[str, ...]
    """Shards that were computed."""
    refused: tuple[str, ...]
    result: str | None = None
    """Address of the stage's own result; None where it came to none, or has none."""

    def to_json(self) -> dict[str, Json]:
        return {
            "task": self.task,
            "seconds": self.seconds,
            "shards": {action: self.shards.get(action, 0) for action in ACTIONS},
            "results": self.results,
            "computed": self.computed,
            "refused": self.refused,
        }


@click.command("build-report")
@json_option
@format_option()
def build_report(json_: bool, format_: Format) -> None:
    """Say what the last doit run computed and reused.

    Counts the shards of each stage: hit (taken from the store), computed, verified (checked and left as it is),
    refused. `result` is what became of the stage's own table. Below it stands what every template lost: how many of
    its tasks, in which stage, why, and one of them for `bfcl trace`; then, apart, what was good and not selected. Reads
    build/log/ of the project around the current directory, and the results that it names.

    \b
    Example:
      doit generate
      bfcl build-report
    """
    tree = BuildTree(project_root(Path.cwd()))
    directory = _last(tree)
    work = _read(directory)
    results = {each.task: each.result for each in work if each.result is not None}
    lost = stored_losses(Store(tree), results)
    if json_ or as_json(format_):
        print_json(
            {
                "schema_version": "1.0",
                "invocation": directory.name,
                "tasks": [each.to_json() for each in work],
                "losses": None if lost is None else [loss.to_json() for loss in lost],
            }
        )
    else:
        sheet = _sheet(directory.name, work)
        _losses(sheet, "dropped tasks", "bold red", [loss for loss in lost or () if not loss.is_choice])
        _losses(sheet, "good tasks that were not selected", "yellow", [loss for loss in lost or () if loss.is_choice])
        sheet.print()


def _last(tree: BuildTree) -> Path:
    found = invocations(tree.log)
    if not found:
        message = "no invocation is recorded here"
        fix = "run `doit generate` first, in the directory of its dodo.py"
        raise DriftError(Problem(code="build_log_missing", subject=shown(tree.log), message=message, fix=fix))
    return found[-1]


def _read(directory: Path) -> list[StageWork]:
    """One record a task, in pipeline order. Raises DriftError `build_log_unreadable`."""
    try:
        work = [_work(body) for body in read_invocation(directory).values()]
    except (ValueError, KeyError, TypeError, AttributeError):
        message = "holds a file that is no record of a task"
        fix = "delete this directory; it is evidence only, nothing is built from it"
        raise DriftError(
            Problem(code="build_log_unreadable", subject=shown(directory), message=message, fix=fix)
        ) from None
    return sorted(work, key=lambda each: (_position(each.task), each.task))


def _position(task: str) -> int:
    return _ORDER.index(task) if task in _ORDER else len(_ORDER)


def _work(body: Json) -> StageWork:
    if not isinstance(body, Mapping):
        raise TypeError("a task's record is an object")
    events = body["events"]
    seconds = body["seconds"]
    if not isinstance(events, list) or not isinstance(seconds, int | float | None):
        raise TypeError("events are a list, seconds a number")
    rows = [event for event in events if isinstance(event, Mapping)]
    if len(rows) < len(events):
        raise TypeError("an event is an object")
    shards = [(str(row["shard"]), str(row["action"])) for row in rows if row["shard"] is not None]
    own = [row["fp"] for row in rows if row["shard"] is None]
    return StageWork(
        task=str(body["task"]),
        seconds=seconds,
        shards=Counter(action for _, action in shards),
        results=tuple(str(row["action"]) for row in rows if row["shard"] is None),
        computed=tuple(label for label, action in shards if action == "computed"),
        refused=tuple(label for label, action in shards if action == "refused"),
        result=next((fp for fp in reversed(own) if isinstance(fp, str)), None),
    )


def _sheet(invocation: str, work: Sequence[StageWork]) -> Sheet:
    sheet = Sheet()
    sheet.line(f"invocation  {invocation}{_started(invocation)}")
    if not work:
        sheet.line()
        sheet.line("no task ran")
        return sheet
    width = max([len("task"), *(len(each.task) for each in work)]) + 2
    head = "".join(f"{action:>10}" for action in ACTIONS)
    sheet.line()
    sheet.line((f"{'task':<{width}}{head}  {'result':<10}{'seconds':>9}", "bold"))
    for each in work:
        counts = "".join(f"{each.shards.get(action, 0):>10}" for action in ACTIONS)
        result = ", ".join(dict.fromkeys(each.results)) or "-"
        seconds = "-" if each.seconds is None else f"{each.seconds:.3f}"
        sheet.line(f"{each.task:<{width}}{counts}  {result:<10}{seconds:>9}")
    for title, style in (("computed", "cyan"), ("refused", "bold red")):
        _shards(sheet, f"{title} shards", style, {each.task: getattr(each, title) for each in work})
    sheet.line()
    computed = sum(len(each.computed) for each in work)
    reused = sum(each.shards.get("hit", 0) for each in work)
    shards = "1 shard" if computed == 1 else f"{computed:,} shards"
    sheet.line(f"{shards} computed, {reused:,} taken from the store")
    return sheet


def _shards(sheet: Sheet, title: str, style: str, shards: Mapping[str, tuple[str, ...]]) -> None:
    if not any(shards.values()):
        return
    sheet.heading(title)
    # An edit mostly reaches the same shards of one stage after the other: those are named once.
    tasks: dict[tuple[str, ...], list[str]] = {}
    for task, labels in shards.items():
        tasks.setdefault(labels, []).append(task)
    for labels, own in tasks.items():
        if labels:
            rest = len(labels) - _NAMED_SHARDS
            more = f" and {rest} more" if rest > 0 else ""
            sheet.line((f"  {', '.join(own)}: ", style), ", ".join(labels[:_NAMED_SHARDS]), more)


def _losses(sheet: Sheet, title: str, style: str, lost: Sequence[Loss]) -> None:
    """A line a template, stage and reason; nothing where there is none."""
    if not lost:
        return
    sheet.heading(title)
    width = max(len(loss.template_id) for loss in lost)
    counts = [f"{loss.tasks:,} of {loss.of:,}" for loss in lost]
    column = max(map(len, counts))
    for loss, count in zip(lost, counts, strict=True):
        lead = f"  {loss.template_id:<{width}}  {count:>{column}}  "
        sheet.line(lead, (f"{loss.stage}: {loss.reason}", style), f"  (bfcl trace {loss.example})")


def _started(invocation: str) -> str:
    moment = started(invocation)
    return "" if moment is None else f" (started {moment:%Y-%m-%d %H:%M:%S} UTC)"
