"""Why nothing of a run may be called Gold."""

from __future__ import annotations

import pytest

from bfcl.records.ids import Tier
from bfcl.stages.gold import gold_ineligibility_reasons


@pytest.mark.parametrize(
    ("tier", "policy", "unmet", "reasons"),
    [
        ("gold", "strict_separation", False, ()),
        ("prototype", "strict_separation", False, ("pack_tier_not_gold",)),
        ("gold", "smoke_no_publication", False, ("smoke_no_publication",)),
        ("gold", "strict_separation", True, ("stage_eleven_unmet_targets",)),
        (
            "prototype",
            "smoke_no_publication",
            True,
            ("pack_tier_not_gold", "smoke_no_publication", "stage_eleven_unmet_targets"),
        ),
    ],
)
def test_every_reason_is_named_in_fixed_order(tier: Tier, policy: str, unmet: bool, reasons: tuple[str, ...]) -> None:
    assert gold_ineligibility_reasons(tier, policy, unmet) == reasons
