"""Check 4: can every assertion a template relies on be called, and does every template have one? Rule: pack.md §9."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from bfcl.checks.findings import Findings, Subject, from_breakdown, from_problem, placed
from bfcl.errors import did_you_mean
from bfcl.oracle.protocol import AssertionInfo
from bfcl.pack.capabilities import Capabilities, read_capabilities
from bfcl.pack.model import Pack
from bfcl.records.template import Template
from bfcl.records.verdict import Finding


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


def findings(
    pack: Pack, exports: Sequence[AssertionInfo] | None, broken: Sequence[Finding] = (), source: bytes | None = None
) -> Findings:
    """What the check finds where the module is known to export `exports`; None where nothing is known of that.

    `broken` says why nothing is known; `source` spares reading the module again.
    """
    failures = [*broken, *_signatures(pack, exports or ())]
    exported = None if exports is None else frozenset(info.name for info in exports)
    shown = pack.shown_path("assertions")
    source = pack.files["assertions"].path.read_bytes() if source is None else source
    capabilities = read_capabilities(source, shown, exported)
    failures += [
        dataclasses.replace(from_problem(problem), file=shown, line=problem.line) for problem in capabilities.problems
    ]
    for index, template in enumerate(pack.templates):
        for position, finding in _references(template, exported, capabilities):
            failures.append(placed(pack, "templates", (index, "success_assertions", *position), finding))
    return Findings(failures, _unused(pack, exports or ()))


def _signatures(pack: Pack, exports: Sequence[AssertionInfo]) -> list[Finding]:
    file = pack.shown_path("assertions")
    return [
        Finding(
            code="invalid_signature",
            message=f"`{info.name}` {info.signature_problem}; expected the keywords `state`, `trace`, `task` and `ctx`",
            file=file,
            line=info.line,
            detail=info.name,
            fix=f"write `def {info.name}(*, state, trace, task, ctx):`",
        )
        for info in exports
        if info.signature_problem is not None
    ]


def _references(
    template: Template, exported: frozenset[str] | None, capabilities: Capabilities
) -> Iterator[tuple[tuple[int, ...], Finding]]:
    if not template.success_assertions:
        yield (
            (),
            Finding(
                code="template_without_success_assertion",
                message="declares no success assertion; expected at least one",
                template_id=template.template_id,
                fix="list in `success_assertions` what must hold when the conversation is over",
            ),
        )
    for index, name in enumerate(template.success_assertions):
        if exported is None:
            continue
        if name not in exported:
            yield (
                (index,),
                Finding(
                    code="missing_assertion",
                    message=f"success assertion `{name}` is not exported by the assertions module",
                    template_id=template.template_id,
                    detail=name,
                    fix=did_you_mean(name, exported) or f"it exports {', '.join(sorted(exported)) or 'nothing'}",
                ),
            )
        elif name in capabilities.entries and not capabilities.entries[name].executable:
            yield (
                (index,),
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
