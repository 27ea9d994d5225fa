"""What must a selection satisfy, and what is it measured by? Rule: generation.md §3.8.8. Exact, and no solver in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from bfcl.stages.balancing.candidate import Candidate, Standing
from bfcl.stages.balancing.dimensions import DIMENSIONS, GROUPS, GroupName, counts


class Entrant(NamedTuple):
    """A row that may be selected. A sequence of entrants is in stable order: index is position."""

    candidate: Candidate
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Everything a selection depends on besides the entrants and their order."""

    size: int
    """Rows to select."""
    category_cap: int
    """Rows of one category beyond which each counts as overflow."""
    quotas: Mapping[str, Mapping[str, int]]
    """Dimension of a fixed mix to bucket to rows; a bucket not named has quota 0."""
    tool_calls: Mapping[str, Fraction]
    """Tool call bucket to its share of the rows `tool_call_rows` counts. Empty without such a mix."""
    intent_share: Fraction | None
    """Greatest share of one intent among the selected rows of a category."""
    caps: Mapping[GroupName, int]
    """Greatest number of rows of one group, for groups with a declared cap."""
    surfaces: int
    """Least number of distinct surfaces."""

    @property
    def unit(self) -> int:
        """How many units of deviation one row is: the common denominator of the tool call shares."""
        return lcm(*(share.denominator for share in self.tool_calls.values()))


class Score(NamedTuple):
    """What selections are compared by, first things first: the least wins."""

    overflow: int
    """Rows above the cap of their category."""
    deviation: int
    """Distance of bucket counts from what the mixes ask for, in `Terms.unit` parts of a row."""
    intent_excess: int
    """Rows of an intent above its allowance in its category."""
    positions: int
    """Sum of positions in stable order."""


def intent_allowance(share: Fraction, rows: int) -> int:
    """How many of a category's rows one intent may have: the share rounded down, but a single row always."""
    return max(1, share.numerator * rows // share.denominator)


def tool_call_rows(found: Mapping[str, int], terms: Terms) -> int:
    """How many rows the tool call shares are shares of, given the selected rows by bucket.

    The mix applies to the rows whose bucket it names. Where none of them is selected it is missed, not met: a share of
    nothing would be had by leaving out all that was asked for. The shares are then those of all selected rows.
    """
    return sum(found.get(bucket, 0) for bucket in terms.tool_calls) or sum(found.values())


def tool_call_gaps(found: Mapping[str, int], terms: Terms) -> dict[str, int]:
    """Bucket of the tool call mix to its rows less its share, in `Terms.unit` parts of a row.

    What a selection is chosen by and what it is told to have missed. Rule: generation.md §3.8.7, .8, .9.
    """
    rows = tool_call_rows(found, terms)
    return {
        bucket: terms.unit * found.get(bucket, 0) - int(terms.unit * share) * rows
        for bucket, share in terms.tool_calls.items()
    }


def score(entrants: Sequence[Entrant], positions: Sequence[int], terms: Terms) -> Score:
    """Measure a selection, whether or not it satisfies the terms."""
    rows = [entrants[position].candidate for position in positions]
    by_category = counts(rows, DIMENSIONS["category"])
    overflow = sum(max(0, number - terms.category_cap) for number in by_category.values())
    return Score(overflow, _deviation(rows, terms), _intent_excess(rows, by_category, terms), sum(positions))


def _deviation(rows: Sequence[Candidate], terms: Terms) -> int:
    total = 0
    for dimension, quotas in terms.quotas.items():
        found = counts(rows, DIMENSIONS[dimension])
        for bucket in {**quotas, **found}:
            total += terms.unit * abs(found.get(bucket, 0) - quotas.get(bucket, 0))
    gaps = tool_call_gaps(counts(rows, DIMENSIONS["tool_call_count"]), terms)
    return total + sum(map(abs, gaps.values()))


def _intent_excess(rows: Sequence[Candidate], by_category: Mapping[str, int], terms: Terms) -> int:
    share = terms.intent_share
    if share is None:
        return 0
    found = Counter((row.category, row.intent) for row in rows)
    return sum(max(0, number - intent_allowance(share, by_category[key[0]])) for key, number in found.items())


def breaches(entrants: Sequence[Entrant], positions: Sequence[int], terms: Terms) -> list[str]:
    """What a selection violates, in words for developers; empty for one that satisfies the terms."""
    rows = [entrants[position].candidate for position in positions]
    chosen = {row.task_id for row in rows}
    found = []
    if len(chosen) != terms.size or len(rows) != terms.size:
        found.append("size")
    if {row.coverage_bucket for row in rows} != {entrant.candidate.coverage_bucket for entrant in entrants}:
        found.append("coverage")
    for name, cap in terms.caps.items():
        if any(number > cap for number in counts(rows, GROUPS[name]).values()):
            found.append(name)
    if len({row.text_hash for row in rows}) < terms.surfaces:
        found.append("surfaces")
    if any(entrants[position].standing.representative_task_id not in chosen for position in positions):
        found.append("representative")
    return found
