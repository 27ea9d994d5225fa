"""Which bias questions a release gives evidence for: the manifest's `bias_applicability`. Rule: generation.md §6.3.

The contract fixes the keys and what three of them are about: the turn policies (`B3` and its parts), distracting tools,
and held-out material (`B7`). For the other numbers no measure is defined, and they say just that.
"""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.canonical import Json
from bfcl.records.ids import TURN_POLICIES

_NUMBERS = range(1, 17)


def bias_applicability(
    policies: Mapping[str, int], with_distractor: int, reserved: int | None = None
) -> dict[str, Json]:
    """`B1`..`B16`, `B3.<policy>` and `B3.distractor_present`, each `{status, reason}`.

    `policies` counts published rows by turn policy, `with_distractor` those that show a tool they do not require;
    `reserved` counts the rows and templates that a held-out policy reserves, None without a policy.
    """
    published = sum(policies.values())
    covered = sum(policies.get(policy, 0) > 0 for policy in TURN_POLICIES)
    entries = {
        f"B{number}": _na(f"no measure is defined under B{number}, so nothing was examined") for number in _NUMBERS
    }
    entries["B3"] = _judged(covered, f"{covered} of {len(TURN_POLICIES)} turn policies have published rows")
    entries["B7"] = (
        _na("no held-out policy, so nothing was reserved or scanned")
        if reserved is None
        else _judged(reserved, f"the held-out policy reserves {reserved} rows and templates; every raw row was scanned")
    )
    for policy in TURN_POLICIES:
        count = policies.get(policy, 0)
        entries[f"B3.{policy}"] = _judged(count, f"{count} of {published} published rows have this turn policy")
    entries["B3.distractor_present"] = _judged(
        with_distractor, f"{with_distractor} of {published} published rows show a tool they do not require"
    )
    return dict(entries)


def _judged(count: int, reason: str) -> Json:
    return {"status": "applicable" if count else "na", "reason": reason}


def _na(reason: str) -> Json:
    return {"status": "na", "reason": reason}
