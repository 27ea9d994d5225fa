"""How do rates, intervals and p values read on the page?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bfcl.evaluate.score.intervals import Bootstrap
from bfcl.evaluate.score.rates import Rate

NONE: Final = "–"
"""Where nothing was counted."""
OPEN: Final = "(none)"
"""A task that leaves a dimension open."""
TITLES: Final[Mapping[str, str]] = {
    "turn_policy": "Turn policy",
    "category": "Category",
    "difficulty": "Difficulty",
    "language": "Language",
    "call_order": "Call order",
    "template_id": "Template",
}
"""Dimension to title, in the page's order."""


def percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"


def between(rate: Rate) -> str:
    """Wilson's interval."""
    interval = rate.interval
    return NONE if interval is None else f"{interval.low:.1%} to {interval.high:.1%}"


def resampled(one: Bootstrap, signed: bool = False) -> str:
    """An interval by the bootstrap, or why there is none. `signed` for a difference, in percentage points."""
    if one.interval is None:
        return f"{NONE} (one template)" if one.clusters == 1 else NONE
    low, high = one.interval.low, one.interval.high
    if signed:
        return f"{100 * low:+.1f} to {100 * high:+.1f} points"
    return f"{low:.1%} to {high:.1%}"


def milliseconds(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f} ms"
