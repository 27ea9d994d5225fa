"""`bfcl trace`: one task's path through all tables, its conversation, and the first stage that dropped it.

For a template: how each of its tasks ended.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bfcl.authoring.conversation_lines import call_text
from bfcl.canonical import Json, canonical_text
from bfcl.cli.place import meant_run, named_run, project_root, run_of_config, searched_runs
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, json_option, print_json
from bfcl.graph.fates import PUBLISHED, Fate, Fates, template_fates
from bfcl.graph.journey import Journey, find_task, read_journey, table_path
from bfcl.graph.losses import NOT_SELECTED
from bfcl.graph.passage import FINAL, Passage, first_drop, passages
from bfcl.pack.layout import shown
from bfcl.records.trace import Call
from bfcl.stages.artifacts import PUBLISHED_FILE
from bfcl.tables.codec import Row
from bfcl.tables.columns import COLUMNS

_STYLES = {"passed": "green", "published": "green", "dropped": "bold red", "absent": "yellow", "open": "yellow"}
_LABEL = 11
_STAGE = 19
_SPEAKER = 13


@click.command
@click.argument("task_id")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration of the run.")
@click.option(
    "--run",
    "directory",
    type=click.Path(path_type=Path),
    help="Directory of the run, its name or its run id, instead of --config.",
)
@json_option
@format_option()
def trace(task_id: str, config: Path | None, directory: Path | None, json_: bool, format_: Format) -> None:
    """Follow one task through every stage, to where it was dropped and why.

    TASK_ID is a whole task id, or a beginning or an end that only one task has. The id of a template, with or without
    `<pack_id>__` before it, lists all tasks of that template: published, dropped where and why, or how far it came.
    Without --config and --run every run of the project is searched: that of configs/tiny.yaml, those below build/runs/
    by name, those that configs/*.yaml name, those that packs/*/validate.yaml name. The first that knows the task is
    shown, the others are listed.

    \b
    Example:
      bfcl trace 3f2a91c07be4d518
      bfcl trace renew_card
      bfcl trace my_pack__renew_card --config configs/mine.yaml --json
    """
    if config is not None and directory is not None:
        raise click.UsageError("give --config or --run, not both")
    project = project_root(Path.cwd())
    if directory is not None:
        runs = [named_run(meant_run(directory, project))]
    elif config is not None:
        runs = [named_run(run_of_config(config, project).root)]
    else:
        runs = searched_runs(project)
    template = template_fates(runs, task_id)
    if template is not None:
        if json_ or as_json(format_):
            print_json(_fates_json(template))
        else:
            _fates_sheet(template).print()
        return
    journey = read_journey(find_task(runs, task_id))
    if json_ or as_json(format_):
        print_json(journey_json(journey))
    else:
        _sheet(journey).print()


def journey_json(journey: Journey) -> dict[str, Json]:
    """The journey as data. Rows hold values in place of the JSON text that the tables store."""
    path = passages(journey)
    drop = first_drop(path)
    stages: list[Json] = []
    for passage in path:
        table = PUBLISHED_FILE if passage.stage == FINAL else table_path(journey.run, passage.stage).name
        stages.append(
            {
                "stage": passage.stage,
                "table": table,
                "outcome": passage.outcome,
                "reason": passage.reason,
                "detail": passage.detail,
                "row": _published_json(journey) if passage.stage == FINAL else _row_json(journey, passage.stage),
            }
        )
    return {
        "schema_version": "1.0",
        "run": shown(journey.run.root),
        "also_in": [shown(run.root) for run in journey.also_in],
        "task_id": journey.task.task_id,
        "template_id": journey.task.template_id,
        "dropped_by": None if drop is None else drop.stage,
        "reason": None if drop is None else drop.reason,
        "detail": None if drop is None else drop.detail,
        "stages": stages,
    }


def _fates_json(fates: Fates) -> dict[str, Json]:
    return {
        "schema_version": "1.0",
        "run": shown(fates.run.root),
        "also_in": [shown(run.root) for run in fates.also_in],
        "template_id": fates.template_id,
        "outcomes": dict(Counter(fate.outcome for fate in fates.tasks)),
        "tasks": [fate.to_json() for fate in fates.tasks],
    }


def _row_json(journey: Journey, stage: str) -> Json:
    row: Row | None = journey.rows[stage]
    if row is None:
        return None
    kinds = dict(COLUMNS[table_path(journey.run, stage).stem])
    return {name: json.loads(value) if kinds[name] == "j" else value for name, value in row.items()}


def _published_json(journey: Journey) -> Json:
    publication = journey.publication
    if publication is None:
        return None
    facts: dict[str, Json] = {"in_raw": publication.raw, "in_published": publication.published}
    if publication.row is not None:
        row: Mapping[str, Any] = publication.row
        facts |= {name: row[name] for name in ("tier", "gold_eligible", "validated_by", "held_out_hit", "src")}
    return facts


def _sheet(journey: Journey) -> Sheet:
    path = passages(journey)
    sheet = Sheet()
    _facts(sheet, journey)
    sheet.heading("stages")
    for passage in path:
        lead = f"  {passage.stage:<{_STAGE}}"
        sheet.line(lead, (f"{passage.outcome:<9}", _STYLES[passage.outcome]), _words(passage))
    sheet.heading("conversation")
    for lead, text in _conversation(journey):
        sheet.hanging(lead, text, style="cyan")
    if journey.replay is not None and journey.replay.assertions:
        sheet.heading("assertions")
        for outcome in journey.replay.assertions:
            style = "green" if outcome.passed else "bold red"
            detail = f": {outcome.detail}" if outcome.detail else ""
            sheet.line("  ", (f"{outcome.status:<16}", style), outcome.name, detail)
    sheet.line()
    sheet.line((_conclusion(path), "bold"))
    return sheet


def _fates_sheet(fates: Fates) -> Sheet:
    sheet = Sheet()
    sheet.hanging(f"{'template':<{_LABEL}}", fates.template_id)
    _place(sheet, fates)
    sheet.heading("tasks")
    width = max(len(fate.task_id) for fate in fates.tasks)
    for fate in fates.tasks:
        sheet.line(f"  {fate.task_id:<{width}}  ", (_ending(fate), _STYLES[fate.outcome]))
    told = Counter(_ending(fate) for fate in fates.tasks).most_common()
    tasks = "1 task" if len(fates.tasks) == 1 else f"{len(fates.tasks):,} tasks"
    sheet.line()
    sheet.line((f"{tasks}: {', '.join(f'{count:,} {ending}' for ending, count in told)}", "bold"))
    return sheet


def _ending(fate: Fate) -> str:
    if fate.outcome == "open":
        return f"not dropped so far, last in {fate.stage}"
    if fate.reason is None:
        return PUBLISHED
    return f"{'not selected' if fate.reason == NOT_SELECTED else 'dropped'} by {fate.stage}: {fate.reason}"


def _facts(sheet: Sheet, journey: Journey) -> None:
    task = journey.task
    sheet.hanging(f"{'task':<{_LABEL}}", task.task_id)
    kind = ", ".join(filter(None, (task.turn_policy, task.category, task.difficulty)))
    sheet.hanging(f"{'template':<{_LABEL}}", f"{task.template_id} ({kind})")
    if task.intent is not None:
        sheet.hanging(f"{'intent':<{_LABEL}}", task.intent)
    _place(sheet, journey)
    slots = [
        f"{name} = {canonical_text(value)}{_first(task.slots_initial, name, value)}"
        for name, value in task.slots.items()
    ]
    if slots:
        sheet.hanging(f"{'slots':<{_LABEL}}", "\n".join(slots))
    if task.fixture_refs:
        refs = (json.loads(ref) for ref in task.fixture_refs)
        sheet.hanging(f"{'fixtures':<{_LABEL}}", ", ".join(f"{collection} {key}" for collection, key in refs))


def _place(sheet: Sheet, found: Journey | Fates) -> None:
    """The run that was read, and the others."""
    sheet.hanging(f"{'run':<{_LABEL}}", shown(found.run.root))
    if found.also_in:
        sheet.hanging(f"{'also in':<{_LABEL}}", "\n".join(f"{shown(run.root)} (--run)" for run in found.also_in))


def _first(initial: Mapping[str, Json], name: str, value: Json) -> str:
    """What a corrected slot held at first."""
    before = initial.get(name)
    return "" if before == value else f" (first {canonical_text(before)})"


def _conversation(journey: Journey) -> Iterator[tuple[str, str]]:
    """Speaker and words of each turn, calls with their results; only as far as the stages came."""
    turns = () if journey.surface is None else journey.surface.turns
    if not turns:
        yield "  ", "no wording: render has no row"
    calls = () if journey.trace is None else journey.trace.calls
    for number, turn in enumerate(turns):
        if turn.kind != "calls":
            speaker = "user" if turn.kind == "user" else "assistant"
            yield f"  {number:>2} {speaker:<{_SPEAKER}}", turn.content or ""
            continue
        lead = f"  {number:>2} {'calls':<{_SPEAKER}}"
        group = [call for call in calls if call.call_group == turn.call_group]
        if not group:
            yield lead, "no calls derived"
        for call in group:
            yield lead, call_text(call.function_name, call.arguments)
            yield " " * len(lead), f"-> {_result(journey, call)}"
            lead = " " * len(lead)


def _result(journey: Journey, call: Call) -> str:
    place = (call.call_group, call.position_in_group)
    results = () if journey.replay is None else journey.replay.tool_results
    answer = next((each for each in results if (each.call_group, each.position_in_group) == place), None)
    return "no result" if answer is None else canonical_text(answer.result)


def _words(passage: Passage) -> str:
    return ": ".join(filter(None, (passage.reason, passage.detail)))


def _conclusion(path: list[Passage]) -> str:
    drop = first_drop(path)
    if drop is not None:
        return f"dropped by {drop.stage}: {_words(drop)}"
    silent = next((passage for passage in path if passage.outcome == "absent"), None)
    if silent is not None:
        return f"not dropped so far; {silent.stage}: {silent.detail}"
    return "published"
