"""Why may nothing of a run be called Gold? Rule: generation.md §6.3."""

from __future__ import annotations

from bfcl.records.ids import Tier


def gold_ineligibility_reasons(tier: Tier, lineage_policy: str, unmet_targets: bool = False) -> tuple[str, ...]:
    """Why nothing of a run may be called Gold, in fixed order; empty for a Gold release."""
    reasons = []
    if tier != "gold":
        reasons.append("pack_tier_not_gold")
    if lineage_policy == "smoke_no_publication":
        reasons.append("smoke_no_publication")
    if unmet_targets:
        reasons.append("stage_eleven_unmet_targets")
    return tuple(reasons)
