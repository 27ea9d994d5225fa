"""Check 7: does one instance of every template come through generation, and do its assertions mean something?

Rule: pack.md §11, check 7; spec README, ruling 14.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bfcl.checks import kept, replays
from bfcl.checks.findings import Findings, Subject, field_pointer, from_problem, placed, template_problem
from bfcl.checks.representatives import Representative, bench, compile_first
from bfcl.config.model import RunConfig
from bfcl.errors import BfclError, Problem, did_you_mean
from bfcl.pack.model import Pack
from bfcl.records.ids import TemplateId
from bfcl.records.verdict import Finding
from bfcl.stages.expand import budget_problems
from bfcl.stages.held_out_bindings import bindable_templates
from bfcl.stages.wording import render_language, text_problems


def check(subject: Subject) -> Findings:
    """What holds for the whole run first, then template by template; replays are asked for in one request.

    Raises: OracleError if no episode can run at all.
    """
    wide = run_wide(subject.pack, subject.config)
    if wide.language is None:
        return wide.found
    unworded = {finding.template_id for finding in wide.texts}
    of_templates, warned = _templates(subject, wide.language, unworded)
    return Findings(wide.found.failures + of_templates, wide.found.warnings + warned)


class RunWide(NamedTuple):
    """What holds for the whole run: the language it renders (None where nothing decides), and all findings."""

    language: str | None
    found: Findings
    texts: list[Finding]
    """Those of the failures that are gaps in a template's wording."""


def run_wide(pack: Pack, config: RunConfig) -> RunWide:
    """Budget, exempt names, language, text blocks; no code of the pack runs."""
    free = bindable_templates(pack.templates, pack.held_out)
    budget = budget_problems(free, config.task_generation.tasks_per_category)
    failures = [from_problem(problem) for problem in budget] + list(_exempt_names(pack))
    positions = {template.template_id: index for index, template in enumerate(pack.templates)}

    def placed_of(problems: Sequence[Problem]) -> list[Finding]:
        return [_of_pack(pack, positions, problem) for problem in problems]

    try:
        language = render_language(config.surface_generation.language, pack.manifest, pack.templates)
    except BfclError as error:
        return RunWide(None, Findings(failures + placed_of(error.problems), []), [])
    problems, mild = text_problems(pack.templates, pack.manifest, language, config.lineage.policy)
    texts = placed_of(problems)
    return RunWide(language, Findings(failures + texts, placed_of(mild)), texts)


def _templates(subject: Subject, language: str, unworded: set[str | None]) -> Findings:
    """What is known of each template, kept or computed now, in the pack's order."""
    told = {index: kept.find_template(subject, index, language) for index in range(len(subject.pack.templates))}
    fresh = _represented(subject, language, unworded, [index for index, found in told.items() if found is None])
    told |= fresh
    every = [found for _, found in sorted(told.items()) if found is not None]
    return Findings(
        [one for found in every for one in found.failures], [one for found in every for one in found.warnings]
    )


def _represented(
    subject: Subject, language: str, unworded: set[str | None], indices: Sequence[int]
) -> dict[int, Findings]:
    """The templates' representatives through the stages and their replays; `unworded` templates are not rendered."""
    stage = bench(subject, language)
    representatives: list[Representative] = []
    told: dict[int, Findings] = {}
    for index in indices:
        worded = subject.pack.templates[index].template_id not in unworded
        representative, faults = compile_first(stage, index, worded=worded)
        told[index] = Findings(faults, [])
        if representative is not None:
            representatives.append(representative)
    stopped: set[int] = set()
    for shown in replays.play(stage, representatives):
        index = shown.representative.index
        told[index].failures.extend(replays.failures(subject.pack, shown))
        told[index].warnings.extend(replays.warnings(subject.pack, shown))
        if not shown.steady:
            stopped.add(index)
    for index in told.keys() - stopped:
        kept.keep_template(subject, index, language, told[index])
    return told


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
