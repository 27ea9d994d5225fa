"""Which findings of the checks show before any code of the pack runs?

The checks' own functions are asked, so a static finding is one that validation would make too. What only running can
tell is left to it. A pack that does not wholly load is judged as far as its files allow.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, NoReturn

from bfcl.checks import (
    assertions_importable,
    backend_schema_alignment,
    declared_validation_cases,
    template_slot_sources,
    template_tool_names,
)
from bfcl.checks.findings import Findings, Subject
from bfcl.checks.outline import (
    Unreadable,
    exported_assertions,
    lacking_callables,
    listed_tools,
    read_outline,
)
from bfcl.checks.representative_generation_contract import run_wide
from bfcl.checks.representatives import bench, compile_first
from bfcl.config.model import RunConfig
from bfcl.errors import OracleError, Problem, StageError
from bfcl.oracle.protocol import Description, Episode, EpisodeResult, Replayed
from bfcl.pack.model import Case, Pack, Role
from bfcl.records.verdict import Finding
from bfcl.stages.bindings import sources_of
from bfcl.stages.expand import pool_size, settings_of
from bfcl.stages.held_out_bindings import bindable_templates


class Part(NamedTuple):
    """The static part of one check: what it needs to have been read, and what it finds."""

    check: str
    """The check's id in the report."""
    needs: tuple[Role, ...]
    """Roles that must be there: data as a document, code as a file."""
    find: Callable[[Pack, RunConfig], Findings]


class Judged(NamedTuple):
    """What one static part found."""

    check: str
    found: Findings


def static_findings(pack: Pack, config: RunConfig) -> list[Judged]:
    """What each part finds whose files were read, in the order of the checks.

    Where a file that the pack declares was not read, what depends on it is not judged: it would only repeat that.
    """
    readable = {role for role in pack.files if role in pack.documents or role in _CODE}
    unread = {role for role in pack.files if role in ("fixtures", "held_out")} - readable
    return [
        Judged(part.check, part.find(pack, config))
        for part in PARTS
        if readable.issuperset(part.needs) and not (unread and part.check in ("2", "7"))
    ]


_CODE: Final[frozenset[Role]] = frozenset(("backend", "assertions"))


# --- 3: the backend ---------------------------------------------------------------------------------------------------


def _catalog(pack: Pack, _: RunConfig) -> Findings:
    return backend_schema_alignment.static_findings(pack)


def _backend(pack: Pack, _: RunConfig) -> Findings:
    outline = read_outline(pack.files["backend"].path.read_bytes())
    if isinstance(outline, Unreadable):
        return Findings([_does_not_compile(pack, "backend", "backend_import_failed", outline)], [])
    lacking = lacking_callables(outline)
    lines = {name: line for name, line in lacking.items() if line is not None}
    failures = backend_schema_alignment.missing_callables(pack, tuple(lacking), lines)
    listed = listed_tools(outline)
    if listed is not None and "tools" in pack.documents:
        failures += backend_schema_alignment.implementation_differences(pack, *listed)
    return Findings(failures, [])


def _does_not_compile(pack: Pack, role: Role, code: str, unreadable: Unreadable) -> Finding:
    return Finding(code=code, message=unreadable.message, file=pack.shown_path(role), line=unreadable.line)


# --- 4: the assertions ------------------------------------------------------------------------------------------------


def _assertions(pack: Pack, _: RunConfig) -> Findings:
    source = pack.files["assertions"].path.read_bytes()
    outline = read_outline(source)
    if isinstance(outline, Unreadable):
        broken = _does_not_compile(pack, "assertions", "assertions_import_failed", outline)
        return assertions_importable.findings(pack, None, [broken], source)
    return assertions_importable.findings(pack, exported_assertions(outline), source=source)


# --- 5: the declared cases --------------------------------------------------------------------------------------------


def _cases(pack: Pack, _: RunConfig) -> Findings:
    failures = list(declared_validation_cases.declarations(pack))
    if not pack.cases:
        return Findings(failures, [])
    tools = {tool.name: tool for tool in pack.tools}
    unenforceable = {finding.tool for finding in backend_schema_alignment.static_findings(pack).failures}
    for index, case in enumerate(pack.cases):
        if case.tool in tools and case.tool not in unenforceable and _sides(case) == {(case.tool, False)}:
            what = "declares a success"
            failures += declared_validation_cases.refused_arguments(pack, index, tools[case.tool], what)
    covered = {side for case in pack.cases for side in _sides(case)}
    return Findings(failures + list(declared_validation_cases.uncovered(pack, covered)), [])


def _sides(case: Case) -> set[tuple[str, bool]]:
    """(tool, whether it is a refusal) of what a case may turn out to be: both where it does not say."""
    declared = case.coverage or case.expect.get("result_class") or case.expect.get("error_code")
    if declared is None:
        return {(case.tool, False), (case.tool, True)}
    return declared_validation_cases.declared_coverage([case])


# --- 7: generation ----------------------------------------------------------------------------------------------------


def _generation(pack: Pack, config: RunConfig) -> Findings:
    wide = run_wide(pack, config)
    told = [*template_tool_names.findings(pack).failures, *template_slot_sources.findings(pack).failures]
    # What is wrong with rows is told once, and every template that draws from them fails by it.
    of_rows = {finding.code for finding in told if finding.template_id is None}
    faulty = {finding.template_id for finding in told}
    sound = [index for index, template in enumerate(pack.templates) if template.template_id not in faulty]
    failures = list(wide.found.failures)
    if wide.language is not None:
        unworded = {finding.template_id for finding in wide.texts}
        compiled = _compiled(Subject(pack=pack, config=config, oracle=_NoOracle()), wide.language, sound, unworded)
        failures += [finding for finding in compiled if finding.code not in of_rows]
    return Findings(failures, wide.found.warnings + list(_shortfalls(pack, config)))


def _compiled(subject: Subject, language: str, indices: Sequence[int], unworded: set[str | None]) -> Iterator[Finding]:
    """The faults of each template's first instance, up to its replay; a dependent call is not followed."""
    stage = bench(subject, language)
    for index in indices:
        with contextlib.suppress(OracleError):
            worded = subject.pack.templates[index].template_id not in unworded
            yield from compile_first(stage, index, worded=worded).faults


class _NoOracle:
    """Stands where checks hold an oracle: whoever asks it learns that nothing runs here."""

    def _refuse(self) -> NoReturn:
        raise OracleError(Problem(code="oracle_missing", message="a static check runs no code of the pack"))

    def describe(self) -> Description:
        self._refuse()

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:  # noqa: ARG002 - the protocol's signature
        self._refuse()

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:  # noqa: ARG002
        self._refuse()

    def suspects(self) -> tuple[str, ...]:
        self._refuse()


def _shortfalls(pack: Pack, config: RunConfig) -> Iterator[Finding]:
    """Categories whose templates offer fewer tasks than their budget, where all of them can bind."""
    sources, settings = sources_of(pack), settings_of(config, pack.manifest)
    budget = config.task_generation.tasks_per_category
    offered: Counter[str] = Counter()
    unknown: set[str] = set()
    for template in bindable_templates(pack.templates, pack.held_out):
        try:
            offered[template.category] += pool_size(template, sources, settings)
        except StageError:
            unknown.add(template.category)  # told where its template is judged
    for category, count in offered.items():
        if count < budget and category not in unknown:
            yield Finding(
                code="category_budget_not_reachable",
                message=f"the templates of category `{category}` offer {count} tasks; its budget is {budget}",
                fix="add fixture rows or templates, or lower `task_generation.tasks_per_category`",
            )


def _of_templates(find: Callable[[Pack], Findings]) -> Callable[[Pack, RunConfig], Findings]:
    return lambda pack, _: find(pack)


PARTS: Final = (
    Part("1", ("templates", "tools"), _of_templates(template_tool_names.findings)),
    Part("2", ("templates", "tools"), _of_templates(template_slot_sources.findings)),
    Part("3", ("backend",), _backend),
    Part("3", ("tools",), _catalog),
    Part("4", ("templates", "assertions"), _assertions),
    Part("5", ("validation_cases", "tools"), _cases),
    Part("7", ("templates", "tools"), _generation),
)
