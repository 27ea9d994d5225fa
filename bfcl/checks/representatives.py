"""What does the first instance of every template become, stage by stage, up to its replay? Rule: pack.md §11, check 7.

The stages' own functions are called, so what is validated is what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bfcl.checks.findings import Subject, placed, template_problem
from bfcl.errors import BfclError, OracleError, Problem
from bfcl.pack.model import Pack
from bfcl.records.plan import Outline
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.records.trace import Trace
from bfcl.records.verdict import Finding, SchemaVerdict
from bfcl.stages.bindings import Sources, sources_of, sources_of_reserved
from bfcl.stages.call_plan import BINDING_FAILED
from bfcl.stages.expand import ExpandSettings, expand_template, settings_of
from bfcl.stages.expected_trace import derive_chunk
from bfcl.stages.render import render
from bfcl.stages.schema_validation import validate
from bfcl.stages.state_machine import outline
from bfcl.stages.wording import Wording, wording_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Representative:
    """The first instance of template number `index`, its trace derived and valid."""

    index: int
    outline: Outline
    task: Task
    trace: Trace
    schema: SchemaVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What compiling needs beyond the template, the same for a whole pack."""

    subject: Subject
    catalog: Mapping[str, Tool]
    sources: Sources
    reserved_sources: Sources
    """What a template that generation may not bind is compiled with."""
    settings: ExpandSettings
    wording: Wording

    def sources_for(self, template: Template) -> Sources:
        """What the template's slots draw from."""
        policy = self.subject.pack.held_out
        reserved = policy is not None and template.template_id in policy.templates
        return self.reserved_sources if reserved else self.sources


class Compiled(NamedTuple):
    """The representative, None where a stage refused it, and every fault in stage order."""

    representative: Representative | None
    faults: list[Finding]


def bench(subject: Subject, language: str) -> Bench:
    """The stages' settings as generation will have them."""
    pack, config = subject.pack, subject.config
    return Bench(
        subject=subject,
        catalog={tool.name: tool for tool in pack.tools},
        sources=sources_of(pack),
        reserved_sources=sources_of_reserved(pack),
        settings=settings_of(config, pack.manifest),
        wording=wording_of(pack.manifest, pack.tools, language, config.surface_generation.prevent_tool_name_leakage),
    )


def compile_first(bench: Bench, index: int, *, worded: bool) -> Compiled:
    """Take the first instance of template number `index` through expand, plan, trace, schema and, if `worded`, render.

    Raises: OracleError if no episode can run at all (templates with dependent calls ask the oracle).
    """
    pack = bench.subject.pack
    template = pack.templates[index]
    try:
        planned = outline(template, bench.catalog)
        task = expand_template(template, bench.sources_for(template), bench.settings, range(1))[0]
    except OracleError:
        raise
    except BfclError as error:
        return Compiled(None, _told(pack, index, error.problems))
    faults: list[Finding] = []
    representative = _traced(bench, index, planned, task, faults)
    if worded:
        faults += _guarded(bench, index, planned, task)
    return Compiled(representative, faults)


def _traced(bench: Bench, index: int, planned: Outline, task: Task, faults: list[Finding]) -> Representative | None:
    pack = bench.subject.pack
    template = pack.templates[index]
    try:
        trace = derive_chunk(template, planned, [task], bench.catalog, bench.subject.oracle)[0]
    except OracleError:
        raise
    except BfclError as error:
        faults += _told(pack, index, error.problems)
        return None
    if not trace.derived:
        faults.append(_underived(pack, index, trace))
        return None
    parameter = pack.manifest.confirmation.parameter
    schema = validate(template, planned, [task], [trace], bench.catalog, parameter)[0]
    if schema.valid:
        return Representative(index=index, outline=planned, task=task, trace=trace, schema=schema)
    for failure in schema.failures:
        call = "" if failure.call_index is None else f"call {failure.call_index}: "
        argument = f"`{failure.pointer}`: " if failure.pointer else ""
        faults.append(
            placed(
                pack,
                "templates",
                _call_place(planned, index, failure.call_index),
                Finding(
                    code="trace_schema_violation",
                    message=f"{call}{argument}{failure.message}",
                    template_id=template.template_id,
                    tool=None if failure.call_index is None else trace.calls[failure.call_index].function_name,
                    detail=failure.code,
                ),
            )
        )
    return None


def _underived(pack: Pack, index: int, trace: Trace) -> Finding:
    """A dependent argument found no value; where the oracle broke on the way, its code says more."""
    reason, _, what = (trace.drop_reason or "").partition(": ")
    misses = reason == BINDING_FAILED
    finding = Finding(
        code=reason if misses else what,
        message=f"the first instance has no expected trace: {what or reason}",
        template_id=trace.template_id,
        detail=trace.drop_reason,
        fix="correct the path, or narrow the slot filters to rows that have a result" if misses else None,
    )
    return placed(pack, "templates", (index, "assistant_milestones"), finding)


def _call_place(planned: Outline, index: int, call: int | None) -> tuple[str | int, ...]:
    milestones = [milestone for step in planned.steps if step.kind == "calls" for milestone in step.milestones]
    return (index,) if call is None else (index, "assistant_milestones", milestones[call])


def _guarded(bench: Bench, index: int, planned: Outline, task: Task) -> list[Finding]:
    pack = bench.subject.pack
    template = pack.templates[index]
    try:
        surface = render(template, planned, [task], bench.wording)[0]
    except BfclError as error:
        return _told(pack, index, error.problems)
    return [
        placed(
            pack,
            "templates",
            (index, "user_turn_templates", bench.wording.language),
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
