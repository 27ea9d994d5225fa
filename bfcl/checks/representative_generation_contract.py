"""Check 7: does one instance of every template come through generation, and do its assertions mean something?

Rule: pack.md §11, check 7; spec README, ruling 14.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from bfcl.checks import replays
from bfcl.checks.findings import Findings, Subject, field_pointer, from_problem, placed, template_problem
from bfcl.checks.representatives import Representative, bench, compile_first
from bfcl.errors import BfclError, Problem, did_you_mean
from bfcl.pack.model import Pack
from bfcl.records.ids import TemplateId
from bfcl.records.verdict import Finding
from bfcl.stages.expand import budget_problems
from bfcl.stages.wording import render_language, text_problems


def check(subject: Subject) -> Findings:
    """What holds for the whole run first, then template by template; replays are asked for in one request.

    Raises: OracleError if no episode can run at all.
    """
    pack, config = subject.pack, subject.config
    budget = budget_problems(pack.templates, config.task_generation.tasks_per_category)
    failures = [from_problem(problem) for problem in budget] + list(_exempt_names(pack))
    positions = {template.template_id: index for index, template in enumerate(pack.templates)}

    def placed_of(problems: Sequence[Problem]) -> list[Finding]:
        return [_of_pack(pack, positions, problem) for problem in problems]

    try:
        language = render_language(config.surface_generation.language, pack.manifest, pack.templates)
    except BfclError as error:
        return Findings(failures + placed_of(error.problems), [])
    problems, mild = text_problems(pack.templates, pack.manifest, language, config.lineage.policy)
    texts = placed_of(problems)
    of_templates, warned = _templates(subject, language, {finding.template_id for finding in texts})
    return Findings(failures + texts + of_templates, placed_of(mild) + warned)


def _templates(subject: Subject, language: str, unworded: set[str | None]) -> Findings:
    """Each template's representative through the stages and its replays; `unworded` templates are not rendered."""
    stage = bench(subject, language)
    representatives: list[Representative] = []
    found: list[tuple[int, Finding]] = []
    for index, template in enumerate(subject.pack.templates):
        representative, faults = compile_first(stage, index, worded=template.template_id not in unworded)
        found += [(index, fault) for fault in faults]
        if representative is not None:
            representatives.append(representative)
    warned: list[Finding] = []
    for shown in replays.play(stage, representatives):
        found += [(shown.representative.index, finding) for finding in replays.failures(subject.pack, shown)]
        warned += replays.warnings(subject.pack, shown)
    return Findings([finding for _, finding in sorted(found, key=lambda pair: pair[0])], warned)


def _exempt_names(pack: Pack) -> Iterator[Finding]:
    catalog = [tool.name for tool in pack.tools]
    for index, name in enumerate(pack.manifest.tool_names_exempt):
        if name not in catalog:
            finding = Finding(
                code="unknown_tool",
                message=f"`surface_guards.tool_names_exempt` names `{name}`, not in the catalog",
                tool=name,
                fix=did_you_mean(name, catalog),
            )
            yield placed(pack, "manifest", ("surface_guards", "tool_names_exempt", index), finding)


def _of_pack(pack: Pack, positions: Mapping[TemplateId, int], problem: Problem) -> Finding:
    """A problem of a template at its place in the templates file, any other at its place in the manifest."""
    index = positions.get(TemplateId(problem.subject or ""))
    if index is not None:
        return template_problem(pack, index, problem)
    if problem.subject == pack.shown_path("manifest"):
        problem = dataclasses.replace(problem, subject=None)  # its place says so
    return placed(
        pack, "manifest", field_pointer(pack.documents["manifest"].value, problem.field), from_problem(problem)
    )
