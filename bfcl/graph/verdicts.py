"""How a verdict is told to a person."""

from __future__ import annotations

from bfcl.errors import GateError, Problem, raise_all
from bfcl.pack.model import Pack
from bfcl.records.verdict import PackVerdict


def require_gold(pack: Pack, verdict: PackVerdict) -> None:
    """Raise GateError `non_gold_pack` with every failing check unless the verdict is gold. Rule: generation.md §3.2."""
    if verdict.gold_eligible:
        return
    first = Problem(
        code="non_gold_pack",
        subject=pack.manifest.pack_id,
        message=f"tier {verdict.tier}, gold is needed; failing: {', '.join(verdict.reasons) or 'none'}",
        fix="mend what follows, then run `doit prepare`",
    )
    raise_all(GateError, [first, *finding_problems(pack, verdict)])


def finding_problems(pack: Pack, verdict: PackVerdict) -> list[Problem]:
    """Every failure of every check as a problem that a person can click."""
    problems = []
    for check in verdict.checks:
        for finding in check.failures:
            path = str(pack.root / finding.file) if finding.file else None
            problems.append(
                Problem(
                    code=finding.code,
                    message=f"check {check.id}: {finding.message}",
                    path=path,
                    line=finding.line,
                    subject=finding.template_id or finding.case_id or finding.tool or check.name,
                    fix=finding.fix,
                )
            )
    return problems


def verdict_line(verdict: PackVerdict, report: str) -> str:
    """What `prepare` says: tier, failed checks, where the report is."""
    failed = [f"{check.id} {check.name}" for check in verdict.checks if check.status != "pass"]
    return f"prepare: {verdict.tier}; failed checks: {', '.join(failed) or 'none'}; report: {report}"
