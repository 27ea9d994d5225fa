"""How far a pack may be trusted: the tier, computed from the checks alone. Rule: pack.md §11, Tier."""

from __future__ import annotations

from collections.abc import Sequence

from bfcl.pack.model import Pack
from bfcl.records.ids import Tier
from bfcl.records.verdict import CheckResult, PackVerdict


def verdict(pack: Pack, exported: Sequence[str], checks: Sequence[CheckResult]) -> PackVerdict:
    """Gold needs every check passed and something to check: a tool, a template, an exported assertion.

    `exported` names the assertions that the pack's module exports.
    """
    lacking = [
        code
        for code, present in (
            ("no_tools", pack.tools),
            ("no_templates", pack.templates),
            ("no_assertions_exported", exported),
        )
        if not present
    ]
    reasons = [reason for check in checks for reason in _reasons(check)] + [f"tier: {code}" for code in lacking]
    return PackVerdict(
        tier=_tier(pack, gold=not reasons),
        reasons=tuple(dict.fromkeys(reasons)),
        checks=tuple(checks),
        exported_assertions=tuple(exported),
    )


def _tier(pack: Pack, *, gold: bool) -> Tier:
    if gold:
        return "gold"
    return "silver" if pack.tools and pack.templates else "prototype"


def _reasons(check: CheckResult) -> list[str]:
    """`<check>: <code>` for each failure; a skipped check is never a pass, so it is a reason too."""
    if check.status == "skipped":
        return [f"{check.id}: skipped"]
    return [f"{check.id}: {finding.code}" for finding in check.failures]
