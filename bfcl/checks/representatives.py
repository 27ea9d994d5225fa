"""What does the first instance of every template become, stage by stage, up to its replay? Rule: pack.md §11, check 7.

The stages' own functions are called, so what is validated is what runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from bfcl.checks.findings import PHASES, at_own_line, of_every_episode, placed, template_problem
from bfcl.config.model import RunConfig
from bfcl.errors import BfclError, OracleError, Problem
from bfcl.oracle.protocol import Oracle
from bfcl.pack.model import Pack
from bfcl.records.plan import Outline
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.records.trace import Trace
from bfcl.records.verdict import Finding, SchemaFailure, SchemaVerdict
from bfcl.stages.bindings import Sources, sources_of, sources_of_reserved
from bfcl.stages.call_plan import BINDING_FAILED, MARKER
from bfcl.stages.expand import ExpandSettings, expand_template, settings_of
from bfcl.stages.expected_trace import derive, plans_dependent_call
from bfcl.stages.render import render
from bfcl.stages.schema_validation import validate
from bfcl.stages.state_machine import outline
from bfcl.stages.unresolved import Unresolved, explained
from bfcl.stages.wording import Wording, wording_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The stages' settings as generation will have them, the same for every template of a pack."""

    pack: Pack
    catalog: Mapping[str, Tool]
    sources: Sources
    reserved_sources: Sources
    """What a template that generation may not bind is compiled with."""
    settings: ExpandSettings
    wording: Wording

    def sources_for(self, template: Template) -> Sources:
        """What the template's slots draw from."""
        policy = self.pack.held_out
        reserved = policy is not None and template.template_id in policy.templates
        return self.reserved_sources if reserved else self.sources


def set_up(pack: Pack, config: RunConfig, language: str) -> Setup:
    """The settings of a run of this configuration that renders `language`."""
    return Setup(
        pack=pack,
        catalog={tool.name: tool for tool in pack.tools},
        sources=sources_of(pack),
        reserved_sources=sources_of_reserved(pack),
        settings=settings_of(config, pack.manifest),
        wording=wording_of(pack.manifest, pack.tools, language, config.surface_generation.prevent_tool_name_leakage),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The first instance of template number `index` and the outline of its conversation."""

    index: int
    outline: Outline
    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Representative(First):
    """A first instance whose trace is derived and valid."""

    trace: Trace
    schema: SchemaVerdict


class Compiled(NamedTuple):
    """The first instance, None where expand or plan refused it, and every fault in stage order."""

    first: First | None
    faults: list[Finding]


class Represented(NamedTuple):
    """The representative, None where a stage refused it, and every fault in stage order."""

    representative: Representative | None
    faults: list[Finding]


def represent(setup: Setup, index: int, oracle: Oracle, *, worded: bool) -> Represented:
    """Take the first instance of template number `index` through every stage up to its replay.

    It is rendered only if `worded`. Raises: OracleError if no episode can run at all.
    """
    first, faults = compile_first(setup, index, worded=worded)
    if first is None:
        return Represented(None, faults)
    representative, more = trace_first(setup, first, oracle)
    return Represented(representative, faults + more)


def compile_first(setup: Setup, index: int, *, worded: bool) -> Compiled:
    """Take the first instance of template number `index` through expand, plan and, if `worded`, render."""
    template = setup.pack.templates[index]
    try:
        planned = outline(template, setup.catalog)
        task = expand_template(template, setup.sources_for(template), setup.settings, range(1))[0]
    except BfclError as error:
        return Compiled(None, _told(setup.pack, index, error.problems))
    first = First(index=index, outline=planned, task=task)
    return Compiled(first, _guarded(setup, first) if worded else [])


def asks_oracle(setup: Setup, first: First) -> bool:
    """Whether tracing this instance runs code of the pack."""
    return plans_dependent_call(setup.pack.templates[first.index], first.outline, setup.catalog)


def trace_first(setup: Setup, first: First, oracle: Oracle | None) -> Represented:
    """Derive the expected trace of a compiled instance and validate it.

    `oracle` may be None unless `asks_oracle`. Raises: OracleError if no episode can run at all.
    """
    pack, index = setup.pack, first.index
    template = pack.templates[index]
    try:
        trace, unresolved = derive(template, first.outline, [first.task], setup.catalog, oracle)[0]
    except OracleError:
        raise
    except BfclError as error:
        return Represented(None, _told(pack, index, error.problems))
    if unresolved is not None:
        return Represented(None, [_underived(pack, first, trace, unresolved)])
    parameter = pack.manifest.confirmation.parameter
    schema = validate(template, first.outline, [first.task], [trace], setup.catalog, parameter)[0]
    if schema.valid:
        whole = Representative(index=index, outline=first.outline, task=first.task, trace=trace, schema=schema)
        return Represented(whole, [])
    return Represented(None, list(_violations(pack, first, trace, schema)))


def _violations(pack: Pack, first: First, trace: Trace, schema: SchemaVerdict) -> Iterator[Finding]:
    """One finding for each failure, without those that follow from a required tool that is never called."""
    template = pack.templates[first.index]
    called = list(dict.fromkeys(call.function_name for call in trace.calls))
    uncalled = iter([name for name in dict.fromkeys(template.required_tools) if name not in called])
    in_order = [name for name in dict.fromkeys(template.required_tools) if name in called]
    follows = in_order == [name for name in called if name in template.required_tools]
    missing = any(failure.code == NOT_CALLED for failure in schema.failures)
    for failure in schema.failures:
        if failure.code == NOT_CALLED:
            yield _uncalled(pack, first, trace, next(uncalled))
        elif not (missing and follows and failure.code in _OF_ORDER):
            yield _invalid(pack, first, trace, failure)


NOT_CALLED: Final = "required_tool_not_called"
_OF_ORDER: Final = ("call_order_mismatch", "call_order_remainder_mismatch")


def _uncalled(pack: Pack, first: First, trace: Trace, tool: str) -> Finding:
    position = pack.templates[first.index].required_tools.index(tool)
    finding = Finding(
        code="trace_schema_violation",
        message=f"`required_tools` lists `{tool}`, which no milestone calls",
        template_id=trace.template_id,
        tool=tool,
        detail=NOT_CALLED,
        fix=f"remove `{tool}` from `required_tools`, or add the call",
    )
    return placed(pack, "templates", (first.index, "required_tools", position), finding)


def _invalid(pack: Pack, first: First, trace: Trace, failure: SchemaFailure) -> Finding:
    call = "" if failure.call_index is None else f"call {failure.call_index}: "
    argument = f"`{failure.pointer}`: " if failure.pointer else ""
    finding = Finding(
        code="trace_schema_violation",
        message=f"{call}{argument}{failure.message}",
        template_id=trace.template_id,
        tool=None if failure.call_index is None else trace.calls[failure.call_index].function_name,
        detail=failure.code,
    )
    return placed(pack, "templates", (first.index, *_failure_place(first.outline, failure)), finding)


def _underived(pack: Pack, first: First, trace: Trace, unresolved: Unresolved) -> Finding:
    """A dependent argument found no value; where the oracle broke on the way, that says more."""
    broken, milestones = unresolved.breakdown, _milestones(first.outline)
    path = (first.index, "assistant_milestones", milestones[unresolved.call], "args", unresolved.parameter, MARKER)
    if broken is not None and broken.phase in PHASES:
        found = of_every_episode(pack, broken)
        return dataclasses.replace(found, template_id=trace.template_id, detail=trace.drop_reason)
    if broken is not None:
        finding = Finding(
            code=broken.code,
            message=f"the first instance has no expected trace: {broken.message}",
            template_id=trace.template_id,
            detail=trace.drop_reason,
        )
        return at_own_line(placed(pack, "templates", path, finding), broken)
    entries = pack.templates[first.index].assistant_milestones
    message, fix = explained(unresolved, entries[milestones[unresolved.source.call]].id)
    finding = Finding(
        code=BINDING_FAILED,
        message=f"the first instance has no expected trace: {message}",
        template_id=trace.template_id,
        detail=trace.drop_reason,
        fix=fix,
    )
    return placed(pack, "templates", (*path, "path"), finding)


def _milestones(planned: Outline) -> list[int]:
    """The position of each call's milestone, by call number."""
    return [milestone for step in planned.steps if step.kind == "calls" for milestone in step.milestones]


def _failure_place(planned: Outline, failure: SchemaFailure) -> tuple[str | int, ...]:
    """The milestone of the call at fault; for a fault of the whole trace, the field that asks for another one."""
    if failure.call_index is not None:
        return ("assistant_milestones", _milestones(planned)[failure.call_index])
    field = _OF_TRACE.get(failure.code)
    return () if field is None else (field,)


_OF_TRACE: Final[Mapping[str, str]] = {
    "call_order_mismatch": "required_tools",
    "call_order_remainder_mismatch": "required_tools",
    "irrelevant_task_has_calls": "turn_policy",
    "dependent_call_requires_strict_order": "call_order",
}


def _guarded(setup: Setup, first: First) -> list[Finding]:
    pack, index = setup.pack, first.index
    template = pack.templates[index]
    try:
        surface = render(template, first.outline, [first.task], setup.wording)[0]
    except BfclError as error:
        return _told(pack, index, error.problems)
    return [
        placed(
            pack,
            "templates",
            (index, "user_turn_templates", setup.wording.language),
            Finding(
                code="surface_guard_violation",
                message=_GUARDS[violation.guard].format(violation.value, violation.key),
                template_id=template.template_id,
                detail=violation.guard,
            ),
        )
        for violation in surface.guard_violations
    ]


_GUARDS = {
    "must_preserve": "the user turns do not say the value of {1} `{0}` where they must",
    "must_omit": "the first user turn says the value of {1} `{0}`, which it must leave out",
    "must_not_mention": "a user turn says the {1} `{0}`, which it must not mention",
}


def _told(pack: Pack, index: int, problems: tuple[Problem, ...]) -> list[Finding]:
    return [template_problem(pack, index, problem, detail=problem.code) for problem in problems]
