"""Check 4: can every assertion a template relies on be called, and does every template have one? Rule: pack.md §9."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

from bfcl.checks.findings import Findings, Subject, at_definition, from_breakdown, from_problem, placed
from bfcl.checks.outline import line_of
from bfcl.errors import did_you_mean
from bfcl.oracle.describing import RUNS_NOTHING, TABLE, table_problem
from bfcl.oracle.protocol import AssertionInfo
from bfcl.pack.capabilities import Capabilities, read_capabilities
from bfcl.pack.model import Pack
from bfcl.records.template import Template
from bfcl.records.verdict import Finding

MISSING: Final = "missing_assertion"


def check(subject: Subject) -> Findings:
    """Import, signatures, declared capabilities, and each template's references.

    Where the module does not import, nothing is known about its exports: only the import and the templates without any
    assertion are reported.
    """
    pack, description = subject.pack, subject.description
    if description.assertions_breakdown is None:
        return findings(pack, description.assertions)
    broken = from_breakdown(description.assertions_breakdown, otherwise="assertions_import_failed")
    return findings(pack, None, [broken if broken.file else placed(pack, "assertions", (), broken)])


def findings(pack: Pack, exports: Sequence[AssertionInfo] | None, broken: Sequence[Finding] = ()) -> Findings:
    """What the check finds where the module is known to export `exports`; None where nothing is known of that.

    `broken` says why nothing is known.
    """
    if any(map(is_no_table, exports or ())):
        broken, exports = [*broken, _no_table(pack, exports or ())], None
    failures = [*broken, *_signatures(pack, exports or ())]
    exported = None if exports is None else frozenset(info.name for info in exports)
    shown = pack.shown_path("assertions")
    capabilities = read_capabilities(pack.code["assertions"], shown, exported)
    failures += [
        dataclasses.replace(from_problem(problem), file=shown, line=problem.line) for problem in capabilities.problems
    ]
    lacking = {finding.template_id: finding for finding in without_assertion(pack)}
    for index, template in enumerate(pack.templates):
        failures += [lacking[template.template_id]] if template.template_id in lacking else []
        for position, finding in _references(template, exported, capabilities):
            told = _hidden(pack, finding) if finding.code == MISSING else finding
            failures.append(placed(pack, "templates", (index, "success_assertions", position), told))
    return Findings(failures, _unused(pack, exports or ()))


def _hidden(pack: Pack, missing: Finding) -> Finding:
    """A missing assertion told as what it most often is: written, and left out of `ASSERTIONS`."""
    name = missing.detail or ""
    line = line_of(pack.code["assertions"], name)
    if line is None:
        return missing
    where = f"{pack.shown_path('assertions')}:{line}"
    message = f"{missing.message}, though {where} defines it"
    fix = f"add it to `{TABLE}`"
    if line_of(pack.code["assertions"], TABLE) is None:
        fix = f"name it `assert_...`, or add it to a dictionary `{TABLE}`"
    return dataclasses.replace(missing, message=message, fix=fix)


def is_no_table(info: AssertionInfo) -> bool:
    """Whether what is told of an export is that `ASSERTIONS` is no dictionary, so that nothing is exported."""
    return info.name == TABLE and (info.signature_problem or "").startswith(table_problem(""))


def _no_table(pack: Pack, exports: Sequence[AssertionInfo]) -> Finding:
    (problem,) = [info.signature_problem for info in exports]
    found = Finding(
        code="invalid_signature",
        message=f"`{TABLE}` {problem}; expected a dictionary of name to function",
        detail=TABLE,
        fix=f'write `{TABLE} = {{"assert_done": assert_done}}`, or remove it: then every function named `assert_...` '
        "is exported",
    )
    return at_definition(pack, "assertions", TABLE, found)


def _signatures(pack: Pack, exports: Sequence[AssertionInfo]) -> list[Finding]:
    file = pack.shown_path("assertions")
    return [
        Finding(
            code="invalid_signature",
            message=f"`{info.name}` {info.signature_problem}; expected {_expected(info.signature_problem)}",
            file=file,
            line=info.line,
            detail=info.name,
            fix=f"write `def {info.name}(*, state, trace, task, ctx):`",
        )
        for info in exports
        if info.signature_problem is not None
    ]


def _expected(problem: str) -> str:
    return "a plain `def`" if problem.endswith(RUNS_NOTHING) else "the keywords `state`, `trace`, `task` and `ctx`"


def without_assertion(pack: Pack) -> Iterator[Finding]:
    """One finding for each template that declares no success assertion."""
    for index, template in enumerate(pack.templates):
        if not template.success_assertions:
            finding = Finding(
                code="template_without_success_assertion",
                message="declares no success assertion; expected at least one",
                template_id=template.template_id,
                fix="list in `success_assertions` what must hold when the conversation is over",
            )
            yield placed(pack, "templates", (index, "success_assertions"), finding)


def _references(
    template: Template, exported: frozenset[str] | None, capabilities: Capabilities
) -> Iterator[tuple[int, Finding]]:
    for index, name in enumerate(template.success_assertions):
        if exported is None:
            continue
        if name not in exported:
            yield (
                index,
                Finding(
                    code=MISSING,
                    message=f"success assertion `{name}` is not exported by the assertions module",
                    template_id=template.template_id,
                    detail=name,
                    fix=did_you_mean(name, exported) or f"it exports {', '.join(sorted(exported)) or 'nothing'}",
                ),
            )
        elif name in capabilities.entries and not capabilities.entries[name].executable:
            yield (
                index,
                Finding(
                    code="assertion_not_executable_compatible",
                    message=f"success assertion `{name}` is declared `executable: False`; replay cannot run it",
                    template_id=template.template_id,
                    detail=name,
                ),
            )


def _unused(pack: Pack, exports: Sequence[AssertionInfo]) -> list[Finding]:
    used = {name for template in pack.templates for name in template.success_assertions}
    return [
        Finding(
            code="unused_assertion",
            message=f"no template uses `{info.name}`",
            file=pack.shown_path("assertions"),
            line=info.line,
            detail=info.name,
            fix="add it to a template's `success_assertions`, or remove it",
        )
        for info in exports
        if info.name not in used and pack.templates
    ]
