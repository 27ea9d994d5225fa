"""How a verdict is told to a person."""

from __future__ import annotations

from bfcl.checks.report import as_problem
from bfcl.errors import GateError, Problem, raise_all
from bfcl.pack.layout import shown
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
    root = shown(pack.root)
    return [as_problem(finding, root=root) for check in verdict.checks for finding in check.failures]


def warning_lines(pack: Pack, verdict: PackVerdict) -> list[str]:
    """Every warning of every check, told like a problem but marked: warnings never change a verdict."""
    root = shown(pack.root)
    found = [as_problem(finding, root=root) for check in verdict.checks for finding in check.warnings]
    return [f"warning: {problem}" for problem in found]


def verdict_line(verdict: PackVerdict, report: str) -> str:
    """What `prepare` says: tier, failed checks, where the report is."""
    failed = [f"{check.id} {check.name}" for check in verdict.checks if check.status != "pass"]
    return f"prepare: {verdict.tier}; failed checks: {', '.join(failed) or 'none'}; report: {report}"
