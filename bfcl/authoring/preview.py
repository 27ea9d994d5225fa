"""What do a pack's templates become: which conversations, which calls, and how do they end? Rule: authoring.md §15.

The stages' own functions are called on the first instances of each template, so a preview is what generation would make
of them. Nothing is written and Gold is not needed: what a stage refuses is told beside what the others made.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bfcl.authoring.chosen_templates import chosen_templates
from bfcl.authoring.coverage import COUNTED
from bfcl.authoring.workbench import Workbench
from bfcl.canonical import Json
from bfcl.checks.representatives import Setup, set_up
from bfcl.errors import BfclError, OracleError, Problem
from bfcl.oracle.protocol import Oracle
from bfcl.records.ids import TemplateId
from bfcl.records.plan import Outline
from bfcl.records.surface import Surface
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.trace import Trace
from bfcl.records.verdict import ReplayVerdict, SchemaVerdict
from bfcl.stages.executable_replay import replay
from bfcl.stages.expand import allocate, expand_template, pool_size, pool_sizes
from bfcl.stages.expected_trace import derive_chunk
from bfcl.stages.held_out_bindings import bindable_templates
from bfcl.stages.render import render
from bfcl.stages.schema_validation import validate
from bfcl.stages.state_machine import outline
from bfcl.stages.wording import render_language


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to show: `templates` by id (none means all), the first `count` instances of each.

    `language` None lets the pack choose; `one_per_policy` keeps the first chosen template of each turn policy.
    """

    templates: tuple[str, ...] = ()
    language: str | None = None
    count: int = 3
    one_per_policy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One task as far as it came: what a stage refused, and everything after it, is None."""

    task: Task
    surface: Surface | None
    trace: Trace | None
    replay: ReplayVerdict | None
    within_budget: bool
    """Whether a run binds it: the template may be bound, and its category's budget reaches so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewed:
    """A template, its first tasks, how many it offers, and what stages refused."""

    template: Template
    language: str
    bindings: int
    shown: tuple[Shown, ...]
    problems: tuple[Problem, ...]

    @property
    def good(self) -> bool:
        """Whether every task shown comes through all stages, within the budget or not."""
        return not self.problems and all(_survives(one) for one in self.shown)


def preview(bench: Workbench, wanted: Wanted) -> list[Previewed]:
    """The chosen templates in pack order, each with its first instances; all replays in one request.

    Raises: ConfigError for an unknown template or a language they do not offer; OracleError if no episode can run.
    """
    chosen = _chosen(bench.pack.templates, wanted)
    language = render_language(wanted.language or bench.config.surface_generation.language, bench.pack.manifest, chosen)
    setup = set_up(bench.pack, bench.config, language)
    drafts = [_drafted(setup, bench.oracle, template, wanted.count) for template in chosen]
    _replay(drafts, bench.oracle, language)
    reached = _reached(bench, setup, chosen)
    return [draft.finished(language, reached.get(draft.template.template_id, 0)) for draft in drafts]


def _reached(bench: Workbench, setup: Setup, chosen: Sequence[Template]) -> Mapping[TemplateId, int]:
    """How many of its first tasks a run binds of each chosen template: those that its category's budget reaches.

    As many are bound as there are candidates; which of them balancing keeps is not known here.
    """
    categories = {template.category for template in chosen}
    free = [one for one in bindable_templates(bench.pack.templates, bench.pack.held_out) if one.category in categories]
    sizes = pool_sizes(free, setup.sources, setup.settings).sizes
    order = allocate([one for one in free if one.template_id in sizes], sizes, setup.settings.limit)
    return Counter(template_id for template_id, _ in order)


def _chosen(templates: Sequence[Template], wanted: Wanted) -> list[Template]:
    found = chosen_templates(templates, wanted.templates)
    if not wanted.one_per_policy:
        return found
    first: dict[str, Template] = {}
    for template in found:
        first.setdefault(template.turn_policy, template)
    return list(first.values())


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A template's tasks while they pass the stages."""

    template: Template
    bindings: int = 0
    tasks: list[Task] = field(default_factory=list)
    surfaces: list[Surface] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    schemas: list[SchemaVerdict] = field(default_factory=list)
    replays: list[ReplayVerdict] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def finished(self, language: str, reached: int) -> Previewed:
        """What is shown of it; a run binds its `reached` first tasks."""
        shown = tuple(
            Shown(
                task=task,
                surface=self.surfaces[number] if self.surfaces else None,
                trace=self.traces[number] if self.traces else None,
                replay=self.replays[number] if self.replays else None,
                within_budget=number < reached,
            )
            for number, task in enumerate(self.tasks)
        )
        return Previewed(
            template=self.template,
            language=language,
            bindings=self.bindings,
            shown=shown,
            problems=tuple(dict.fromkeys(self.problems)),
        )


def _drafted(setup: Setup, oracle: Oracle, template: Template, count: int) -> _Draft:
    """Everything but the replay; a stage that refuses leaves its problems and ends only its own branch."""
    draft = _Draft(template=template)
    try:
        planned = outline(template, setup.catalog)
        sources = setup.sources_for(template)
        # Which instances come first hangs on the budget, so they are a run's own; how many there are does not.
        wide = dataclasses.replace(setup.settings, limit=max(COUNTED, setup.settings.limit))
        draft.bindings = pool_size(template, sources, wide)
        offered = pool_size(template, sources, setup.settings)
        draft.tasks = expand_template(template, sources, setup.settings, range(min(count, offered)))
    except BfclError as error:
        draft.problems += error.problems
        return draft
    try:
        draft.surfaces = render(template, planned, draft.tasks, setup.wording)
    except BfclError as error:
        draft.problems += error.problems
    _derive(draft, planned, setup, oracle)
    return draft


def _derive(draft: _Draft, planned: Outline, setup: Setup, oracle: Oracle) -> None:
    template, parameter = draft.template, setup.pack.manifest.confirmation.parameter
    try:
        draft.traces = derive_chunk(template, planned, draft.tasks, setup.catalog, oracle)
        draft.schemas = validate(template, planned, draft.tasks, draft.traces, setup.catalog, parameter)
    except OracleError:
        raise
    except BfclError as error:
        draft.problems += error.problems


def _replay(drafts: Sequence[_Draft], oracle: Oracle, language: str) -> None:
    ready = [draft for draft in drafts if draft.schemas]
    verdicts = replay(
        [task for draft in ready for task in draft.tasks],
        [trace for draft in ready for trace in draft.traces],
        [schema for draft in ready for schema in draft.schemas],
        oracle,
        language,
    )
    start = 0
    for draft in ready:
        draft.replays = verdicts[start : start + len(draft.tasks)]
        start += len(draft.tasks)


def _survives(shown: Shown) -> bool:
    return shown.surface is not None and shown.surface.accepted and shown.replay is not None and shown.replay.valid


def document(previewed: Sequence[Previewed]) -> Json:
    """The preview as one JSON document: per template its conversations in step order and their outcome."""
    return {
        "schema_version": "1.0",
        "status": "pass" if all(one.good for one in previewed) else "blocked",
        "templates": [_template_json(one) for one in previewed],
    }


def _template_json(one: Previewed) -> Json:
    return {
        "template_id": one.template.template_id,
        "turn_policy": one.template.turn_policy,
        "category": one.template.category,
        "language": one.language,
        "bindings": one.bindings,
        "problems": [
            {"code": problem.code, "message": problem.message, "field": problem.field, "recovery": problem.fix}
            for problem in one.problems
        ],
        "conversations": [_shown_json(shown) for shown in one.shown],
    }


def _shown_json(shown: Shown) -> Json:
    surface, trace, verdict = shown.surface, shown.trace, shown.replay
    return {
        "task_id": shown.task.task_id,
        "slots": shown.task.slots,
        "slots_initial": shown.task.slots_initial,
        "turns": None if surface is None else [turn.to_json() for turn in surface.turns],
        "guard_violations": None if surface is None else [one.to_json() for one in surface.guard_violations],
        "expected_calls": None if trace is None else [call.to_json() for call in trace.calls],
        "drop_reason": None if trace is None else trace.drop_reason,
        "replay": None
        if verdict is None
        else {
            "valid": verdict.valid,
            "reason": verdict.reason,
            "detail": verdict.detail,
            "tool_results": [result.to_json() for result in verdict.tool_results],
            "assertions": [outcome.to_json() for outcome in verdict.assertions],
        },
        "within_budget": shown.within_budget,
        "would_be_published": _survives(shown) and shown.within_budget,
    }
