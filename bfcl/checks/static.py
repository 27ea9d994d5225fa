"""Which findings of the checks show before any code of the pack runs?

The checks' own functions are asked, so a static finding is one that validation would make too. What only running can
tell is left to it. A pack that does not wholly load is judged as far as its files allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from bfcl.checks import (
    assertions_importable,
    backend_schema_alignment,
    declared_validation_cases,
    determinism,
    endpoint_conformance,
    isolation,
    template_slot_sources,
    template_tool_names,
    tier,
)
from bfcl.checks.findings import Findings
from bfcl.checks.fixes import with_fixes
from bfcl.checks.outline import (
    Unreadable,
    exported_assertions,
    lacking_callables,
    listed_tools,
    read_outline,
)
from bfcl.checks.representative_generation_contract import run_wide
from bfcl.checks.representatives import Setup, asks_oracle, compile_first, set_up, trace_first
from bfcl.config.model import RunConfig
from bfcl.pack.model import Case, Pack, Role
from bfcl.records.verdict import Finding


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
    readable = {role for role in pack.files if role in pack.documents or role in pack.code}
    unread = {role for role in pack.files if role in ("fixtures", "held_out")} - readable
    judged = [
        Judged(part.check, with_fixes(part.find(pack, config)))
        for part in PARTS
        if readable.issuperset(part.needs) and not (unread and part.check in ("2", "7"))
    ]
    failures = [finding for one in judged if one.check == "7" for finding in one.found.failures]
    return [_told_once(one, failures) for one in judged]


def _told_once(judged: Judged, of_generation: Sequence[Finding]) -> Judged:
    """Without warnings of check 1 that say what check 7 fails for."""
    if judged.check != "1":
        return judged
    warnings = template_tool_names.without_doubles(judged.found.warnings, of_generation)
    return Judged(judged.check, Findings(judged.found.failures, warnings))


# --- 3: the backend ---------------------------------------------------------------------------------------------------


def _backend(pack: Pack, _: RunConfig) -> Findings:
    outline = read_outline(pack.code["backend"])
    if isinstance(outline, Unreadable):
        return Findings([_does_not_compile(pack, "backend", "backend_import_failed", outline)], [])
    failures = backend_schema_alignment.missing_callables(pack, lacking_callables(outline))
    listed = listed_tools(outline)
    if listed is not None and "tools" in pack.documents:
        failures += backend_schema_alignment.implementation_differences(pack, listed)
    return Findings(failures, [])


def _does_not_compile(pack: Pack, role: Role, code: str, unreadable: Unreadable) -> Finding:
    return Finding(code=code, message=unreadable.message, file=pack.shown_path(role), line=unreadable.line)


# --- 4: the assertions ------------------------------------------------------------------------------------------------


def _assertions(pack: Pack, _: RunConfig) -> Findings:
    outline = read_outline(pack.code["assertions"])
    if isinstance(outline, Unreadable):
        broken = _does_not_compile(pack, "assertions", "assertions_import_failed", outline)
        return assertions_importable.findings(pack, None, [broken])
    return assertions_importable.findings(pack, exported_assertions(outline))


def _lacking(pack: Pack, _: RunConfig) -> Findings:
    outline = read_outline(pack.code["assertions"])
    known = None if isinstance(outline, Unreadable) else exported_assertions(outline)
    return Findings(tier.lacking(pack, None if known is None else [info.name for info in known]), [])


# --- 5: the declared cases --------------------------------------------------------------------------------------------


def _cases(pack: Pack, _: RunConfig) -> Findings:
    failures = list(declared_validation_cases.declarations(pack))
    if not pack.cases:
        return Findings(failures, [])
    tools = {tool.name: tool for tool in pack.tools}
    unenforceable = backend_schema_alignment.unenforceable_tools(pack)
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
        compiled = _compiled(set_up(pack, config, wide.language), sound, unworded)
        failures += [finding for finding in compiled if finding.code not in of_rows]
    return Findings(failures, wide.found.warnings)


def _compiled(setup: Setup, indices: Sequence[int], unworded: set[str | None]) -> Iterator[Finding]:
    """The faults of each template's first instance, up to its replay; a dependent call is not followed.

    Nor is it known what calls a tool takes whose schema cannot be used: that is told once, with the tool.
    """
    unenforceable = backend_schema_alignment.unenforceable_tools(setup.pack)
    for index in indices:
        worded = setup.pack.templates[index].template_id not in unworded
        first, faults = compile_first(setup, index, worded=worded)
        yield from faults
        called = {milestone.tool for milestone in setup.pack.templates[index].assistant_milestones}
        if first is None or called & unenforceable:
            continue
        if not asks_oracle(setup, first):
            yield from trace_first(setup, first, None).faults


def _of_pack(find: Callable[[Pack], Findings]) -> Callable[[Pack, RunConfig], Findings]:
    return lambda pack, _: find(pack)


PARTS: Final = (
    Part("1", ("templates", "tools"), _of_pack(template_tool_names.findings)),
    Part("2", ("templates", "tools"), _of_pack(template_slot_sources.findings)),
    Part("3", ("backend",), _backend),
    Part("3", ("tools",), _of_pack(backend_schema_alignment.static_findings)),
    Part("4", ("templates", "assertions"), _assertions),
    Part("5", ("validation_cases", "tools"), _cases),
    Part("7", ("templates", "tools"), _generation),
    Part("D1", ("backend",), lambda pack, _: Findings([], list(determinism.suspects_of(pack)))),
    Part("I1", (), lambda _, config: isolation.findings(config)),
    Part("A1", ("endpoint",), _of_pack(endpoint_conformance.findings)),
    Part("tier", ("templates", "tools", "assertions"), _lacking),
)
