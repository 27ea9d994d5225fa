"""How far a pack may be trusted: the tier, computed from the checks alone. Rule: pack.md §11, Tier."""

from __future__ import annotations

from collections.abc import Sequence

from bfcl.checks.findings import placed
from bfcl.pack.model import Pack, Role
from bfcl.records.ids import Tier
from bfcl.records.verdict import CheckResult, Finding, PackVerdict


def verdict(pack: Pack, exported: Sequence[str], checks: Sequence[CheckResult]) -> PackVerdict:
    """Gold needs every check passed and something to check: a tool, a template, an exported assertion.

    `exported` names the assertions that the pack's module exports.
    """
    reasons = [reason for check in checks for reason in _reasons(check)]
    reasons += [f"tier: {finding.code}" for finding in lacking(pack, exported)]
    return PackVerdict(
        tier=_tier(pack, gold=not reasons),
        reasons=tuple(dict.fromkeys(reasons)),
        checks=tuple(checks),
        exported_assertions=tuple(exported),
    )


def lacking(pack: Pack, exported: Sequence[str] | None) -> list[Finding]:
    """What Gold needs the pack to have at all. `exported` is None where nothing is known of its assertions."""
    found = []
    if not pack.tools:
        found.append(_lacks(pack, "tools", "no_tools", "tool"))
    if not pack.templates:
        found.append(_lacks(pack, "templates", "no_templates", "template"))
    if exported is not None and not exported:
        found.append(_lacks(pack, "assertions", "no_assertions_exported", "exported assertion"))
    return found


def _lacks(pack: Pack, role: Role, code: str, what: str) -> Finding:
    message = f"the pack has no {what}, and Gold needs at least one"
    finding = Finding(code=code, message=message, fix=f"add one: `bfcl new {what.split()[-1]}` writes a start")
    return placed(pack, role, (), finding) if role in pack.files else finding


def _tier(pack: Pack, *, gold: bool) -> Tier:
    if gold:
        return "gold"
    return "silver" if pack.tools and pack.templates else "prototype"


def _reasons(check: CheckResult) -> list[str]:
    """`<check>: <code>` for each failure; a skipped check is never a pass, so it is a reason too."""
    if check.status == "skipped":
        return [f"{check.id}: skipped"]
    return [f"{check.id}: {finding.code}" for finding in check.failures]
