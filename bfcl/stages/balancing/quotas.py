"""How many rows does each share of a mix come to, and what number exactly is a share? Rule: generation.md §3.8.7."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

FINEST: Final = 10_000
"""Greatest denominator of a share that is more than what was written: see `exact`."""

_TOLERANCE: Final = Fraction(1, 10**9)
"""To this the configuration checks that shares sum to 1; closer than this a number means the simple fraction."""


def exact(share: float) -> Fraction:
    """The rational number a configuration means: 0.1 is a tenth, and 0.333333333 a third.

    The shortest decimal that reads back as the float, unless a fraction with a denominator of at most `FINEST` is
    nearer than mixes are checked to. So no comparison depends on how binary floating point rounds.
    """
    written = Fraction(repr(share))
    simple = written.limit_denominator(FINEST)
    return simple if abs(simple - written) <= _TOLERANCE else written


def exact_mix(mix: Mapping[str, float]) -> dict[str, Fraction]:
    """`exact` of every share, in key order."""
    return {bucket: exact(mix[bucket]) for bucket in sorted(mix)}


def apportioned(shares: Mapping[str, Fraction], total: int) -> dict[str, int]:
    """Rows per bucket, summing to `total`, in key order.

    Largest remainder: every bucket gets its share rounded down; rows left over go one each to the largest fractions,
    ties to the smaller key. Shares count relative to their sum, which may miss 1 by what the configuration tolerates.
    """
    whole = sum(shares.values())
    ideal = {bucket: shares[bucket] * total / whole for bucket in sorted(shares)}
    rows = {bucket: value.numerator // value.denominator for bucket, value in ideal.items()}
    by_fraction = sorted(ideal, key=lambda bucket: (rows[bucket] - ideal[bucket], bucket))
    for bucket in by_fraction[: total - sum(rows.values())]:
        rows[bucket] += 1
    return rows
