"""How sure is a rate, and how sure a difference? Wilson, clustered bootstrap, exact McNemar, Holm.

Nothing but exactly rounded arithmetic (sums, products, quotients, square roots), so that every machine gives the same
digits. Rule: evaluation.md §10, §16.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import comb, sqrt
from struct import unpack
from typing import Final, TypeVar

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_bytes

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 10_000
SEED: Final = 20_260_101
"""Of every bootstrap unless the caller says otherwise. Results record the seed that made them."""

_Z: Final = 1.959963984540054
"""The 97.5 % point of the normal distribution."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A two-sided 95 % interval."""

    low: float
    high: float

    def to_json(self) -> dict[str, Json]:
        return {"low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """A percentile interval of a ratio whose observations come in clusters, and what it was made from."""

    interval: Interval | None
    """None with fewer than two clusters: what varies between clusters cannot be seen then."""
    clusters: int
    resamples: int
    seed: int

    def to_json(self) -> dict[str, Json]:
        return {
            "interval": None if self.interval is None else self.interval.to_json(),
            "clusters": self.clusters,
            "resamples": self.resamples,
            "seed": self.seed,
            "method": "percentile bootstrap over clusters",
        }


def wilson(successes: int, n: int) -> Interval | None:
    """Wilson's score interval of a rate, or None where nothing was counted. Raises: ValueError on impossible counts."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return None
    rate, z2 = successes / n, _Z * _Z
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * sqrt(rate * (1 - rate) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # At the ends the formula gives 0 and 1 but for the rounding.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Interval(low=low, high=high)


def cluster_bootstrap(
    clusters: Sequence[tuple[int, int]], *, seed: int = SEED, resamples: int = RESAMPLES
) -> Bootstrap:
    """The interval of sum(numerators) / sum(denominators) when whole clusters are drawn with replacement.

    A cluster is `(numerator, denominator)` with a denominator above 0; the numerator may be negative, as a difference
    is. The order of the clusters does not matter. Raises: ValueError on a denominator below 1 or no resample.
    """
    if resamples < 1 or any(denominator < 1 for _, denominator in clusters):
        raise ValueError("every cluster needs observations, and the bootstrap a resample")
    interval = None
    if len(clusters) > 1:
        ratios = sorted(_resampled(clusters, seed, resamples))
        cut = resamples * 25 // 1000
        interval = Interval(low=ratios[cut], high=ratios[-1 - cut])
    return Bootstrap(interval=interval, clusters=len(clusters), resamples=resamples, seed=seed)


def _resampled(clusters: Sequence[tuple[int, int]], seed: int, resamples: int) -> Iterator[float]:
    """The ratio of each resample.

    Equal clusters are drawn together: how often each kind occurs among n draws is multinomial, hence one binomial draw
    to a kind, given those before it. With a thousand tasks of their own that is one draw instead of a thousand.
    """
    kinds = sorted(Counter(clusters).items(), key=lambda kind: (-kind[1], kind[0]))
    # Weight of a kind, and of it and all after it.
    left_weights = [sum(weight for _, weight in kinds[place:]) for place in range(len(kinds))]
    tables: list[dict[int, _Binomial]] = [{} for _ in kinds]
    uniform = _uniform(seed)
    for _ in range(resamples):
        left, above, below = len(clusters), 0, 0
        for place, ((numerator, denominator), weight) in enumerate(kinds):
            if place == len(kinds) - 1:
                drawn = left
            else:
                table = tables[place].get(left)
                if table is None:
                    table = tables[place][left] = _binomial(left, weight, left_weights[place])
                drawn = table.first + bisect_right(table.cumulative, next(uniform))
            above += drawn * numerator
            below += drawn * denominator
            left -= drawn
            if left == 0:
                break
        yield above / below


@dataclass(frozen=True, slots=True)
class _Binomial:
    """A binomial distribution for drawing: a uniform number's place in `cumulative` counts from `first`."""

    first: int
    cumulative: list[float]


_NEGLIGIBLE: Final = 1e-18


def _binomial(n: int, weight: int, whole: int) -> _Binomial:
    """Binomial of n trials at weight / whole, below 1. From the mode outwards, since no power can underflow there."""
    odds = weight / (whole - weight)
    mode = min(n, (n + 1) * weight // whole)
    upper, lower = [1.0], [1.0]
    for k in range(mode, n):
        upper.append(upper[-1] * odds * (n - k) / (k + 1))
        if upper[-1] < _NEGLIGIBLE:
            break
    for k in range(mode, 0, -1):
        lower.append(lower[-1] * k / (odds * (n - k + 1)))
        if lower[-1] < _NEGLIGIBLE:
            break
    masses = [*reversed(lower[1:]), *upper]
    total, running, cumulative = sum(masses), 0.0, []
    for mass in masses[:-1]:
        running += mass
        cumulative.append(running / total)
    return _Binomial(mode - len(lower) + 1, cumulative)


def _uniform(seed: int) -> Iterator[float]:
    """Numbers in [0, 1), each a multiple of 2^-53: SHA-256 of seed and counter, four to a digest."""
    prefix = canonical_json(["bfcl-bootstrap/1", seed])
    for block in count():
        for word in unpack(">4Q", sha256_bytes(prefix + block.to_bytes(8, "big"))):
            yield (word >> 11) * 2.0**-53


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact p of McNemar's test from the tasks that only one of two candidates solved.

    Twice the smaller binomial tail at one half, at most 1; 1 where the candidates never disagree. Raises: ValueError
    on a negative count.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"{only_first} and {only_second} discordant tasks")
    n, least = only_first + only_second, min(only_first, only_second)
    if 2 * least == n:
        return 1.0
    term, tail = 1, 1
    for k in range(1, least + 1):
        term = term * (n - k + 1) // k
        tail += term
    return float(min(Fraction(1), Fraction(2 * tail, 1 << n)))


def holm(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """Holm's step-down adjustment of a family of p values, keys in their order."""
    ascending = sorted(p_values.items(), key=lambda item: item[1])
    adjusted: dict[Key, float] = {}
    floor = 0.0
    for place, (key, p_value) in enumerate(ascending):
        floor = max(floor, min(1.0, (len(ascending) - place) * p_value))
        adjusted[key] = floor
    return {key: adjusted[key] for key in p_values}


def chance_all(successes: int, trials: int, k: int) -> Fraction:
    """C(c, k) / C(n, k): the chance that k trials drawn from n, of which c succeeded, all did. k is at most n."""
    return Fraction(comb(successes, k), comb(trials, k))
