"""What was there to select from, and what was dropped before that, as a report of balancing tells it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypedDict, cast

from bfcl.canonical import Json
from bfcl.stages.balancing.limits import HARD_LIMITS
from bfcl.stages.balancing.quotas import exact

MIX_SETTINGS: Final[Mapping[str, str]] = {
    "difficulty": "difficulty_mix",
    "turn_class": "turn_mix",
    "turn_policy": "policy_mix",
    "tool_call_count": "tool_call_count_mix",
}
"""Dimension to the key of `task_generation` that declares its mix."""

_OF_ALL_ROWS: Final = ("difficulty", "turn_class", "turn_policy")
"""Dimensions whose quotas lower the budget until they are in stock."""


class _Counts(TypedDict):
    stage_ten_survivors: int
    semantic_duplicate_drops: int


class _Settings(TypedDict):
    task_generation: Mapping[str, Mapping[str, float] | None]
    """Mixes alone are looked at."""


class _Lineage(TypedDict):
    settings: _Settings


class _Report(TypedDict):
    """The keys of `dedup_balancing_report.json` that are read here."""

    counts: _Counts
    hard_limit_drops: Mapping[str, int]
    inventory_counts: Mapping[str, Mapping[str, int]]
    lineage: _Lineage


class Bucket(NamedTuple):
    """One bucket of a declared mix, with the rows of it that could be selected."""

    dimension: str
    name: str
    share: float
    rows: int

    @property
    def setting(self) -> str:
        """The key that declares its share."""
        return f"task_generation.{MIX_SETTINGS[self.dimension]}"


class Stock(NamedTuple):
    """Candidates, those of them that were dropped before anything was selected, and what the mixes lack most."""

    candidates: int
    duplicates: int
    """Near-duplicates that `remove_duplicates` dropped."""
    over_limits: Mapping[str, int]
    """Setting to the rows that it dropped, where it dropped any."""
    scarcest: Bucket | None
    """The bucket with the fewest rows for its share among the mixes of all rows; None without such a mix."""

    def losses(self) -> str | None:
        """How many candidates were dropped, and why, as a clause; None where all of them could be selected."""
        said = list(self._losses())
        if not said:
            return None
        number, why = said[0]
        rest = "".join(f", {more} {reason}" for more, reason in said[1:])
        return f"{number} of {self.candidates} candidates {'was' if number == 1 else 'were'} dropped {why}{rest}"

    def _losses(self) -> Iterator[tuple[int, str]]:
        if self.duplicates:
            yield self.duplicates, "as a near-duplicate" if self.duplicates == 1 else "as near-duplicates"
        for setting, number in self.over_limits.items():
            yield number, f"for `{setting}`"


def stock_of(report: Mapping[str, Json]) -> Stock:
    """Read from the document that `report.report` writes, or from its JSON."""
    read = cast("_Report", report)
    return Stock(
        candidates=read["counts"]["stage_ten_survivors"],
        duplicates=read["counts"]["semantic_duplicate_drops"],
        over_limits={
            setting: read["hard_limit_drops"][reason]
            for reason, setting in HARD_LIMITS.items()
            if read["hard_limit_drops"][reason]
        },
        scarcest=min(_buckets(read), key=lambda bucket: (bucket.rows / exact(bucket.share), bucket), default=None),
    )


def _buckets(read: _Report) -> Iterator[Bucket]:
    """Every bucket of the mixes of all rows that any rows are asked of."""
    for dimension in _OF_ALL_ROWS:
        rows = read["inventory_counts"][dimension]
        for name, share in (read["lineage"]["settings"]["task_generation"][MIX_SETTINGS[dimension]] or {}).items():
            if share > 0:
                yield Bucket(dimension, name, share, rows.get(name, 0))
