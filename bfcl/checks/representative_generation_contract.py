"""Check 7: does one instance of every template come through generation, and do its assertions mean something?

Rule: pack.md §11, check 7; spec README, ruling 14.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bfcl.checks import budget, kept, replays
from bfcl.checks.findings import Findings, Subject, field_pointer, first_names, from_problem, placed, template_problem
from bfcl.checks.representatives import Representative, represent, set_up
from bfcl.config.model import RunConfig
from bfcl.errors import BfclError, Problem, did_you_mean
from bfcl.pack.model import Pack
from bfcl.records.ids import TemplateId
from bfcl.records.verdict import Finding
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
    """Budget, held-out policy, exempt names, language, text blocks; no code of the pack runs.

    Warnings: a budget that the templates cannot fill, wordings that may leave something unsaid.
    """
    failures, warnings = budget.findings(pack, config)
    failures = failures + list(_exempt_names(pack))
    positions = {template.template_id: index for index, template in enumerate(pack.templates)}

    def placed_of(problems: Sequence[Problem]) -> list[Finding]:
        return [_of_pack(pack, positions, problem) for problem in problems]

    try:
        language = render_language(config.surface_generation.language, pack.manifest, pack.templates)
    except BfclError as error:
        return RunWide(None, Findings(failures + placed_of(error.problems), warnings), [])
    problems, mild = text_problems(pack.templates, pack.manifest, language, config.lineage.policy)
    texts = placed_of(problems)
    return RunWide(language, Findings(failures + texts, warnings + placed_of(mild)), texts)


def _templates(subject: Subject, language: str, unworded: set[str | None]) -> Findings:
    """What is known of each template, kept or computed now, in the pack's order."""
    told = {index: kept.find_template(subject, index, language) for index in range(len(subject.pack.templates))}
    fresh = _represented(subject, language, unworded, [index for index, found in told.items() if found is None])
    told |= fresh
    every = [found for _, found in sorted(told.items()) if found is not None]
    failures = [one for found in every for one in found.failures]
    return Findings(_alike_once(subject.pack, failures), [one for found in every for one in found.warnings])


def _alike_once(pack: Pack, failures: Sequence[Finding]) -> list[Finding]:
    """The failures; of those that say one thing of one line of code the first, with the templates that meet it."""
    templates = pack.shown_path("templates")
    alike: dict[object, list[Finding]] = {}
    for number, one in enumerate(failures):
        of_code = one.file not in (None, templates) and one.line is not None
        alike.setdefault((one.code, one.message, one.file, one.line) if of_code else number, []).append(one)
    return [_with_others(group[0], [one.template_id or "" for one in group[1:]]) for group in alike.values()]


def _with_others(first: Finding, others: Sequence[str]) -> Finding:
    others = list(dict.fromkeys(name for name in others if name != first.template_id))
    if not others:
        return first
    said = "1 more template meets" if len(others) == 1 else f"{len(others)} more templates meet"
    return dataclasses.replace(first, message=f"{first.message}; {said} it: {first_names(others)}")


def _represented(
    subject: Subject, language: str, unworded: set[str | None], indices: Sequence[int]
) -> dict[int, Findings]:
    """The templates' representatives through the stages and their replays; `unworded` templates are not rendered."""
    setup = set_up(subject.pack, subject.config, language)
    representatives: list[Representative] = []
    told: dict[int, Findings] = {}
    for index in indices:
        worded = subject.pack.templates[index].template_id not in unworded
        representative, faults = represent(setup, index, subject.oracle, worded=worded)
        told[index] = Findings(faults, [])
        if representative is not None:
            representatives.append(representative)
    stopped: set[int] = set()
    for shown in replays.play(setup, subject.oracle, representatives):
        index = shown.representative.index
        told[index].failures.extend(replays.failures(subject.pack, shown))
        told[index].warnings.extend(replays.warnings(subject.pack, shown))
        if not shown.ran_through:
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
