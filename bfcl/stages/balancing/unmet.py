"""Which targets does the best selection miss, and why? Rule: generation.md §3.8.9, §11.5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias

from bfcl.canonical import Json
from bfcl.errors import Problem, StageError
from bfcl.stages.balancing.budget import Budget, Shortfall
from bfcl.stages.balancing.candidate import Candidate, CoverageBucket
from bfcl.stages.balancing.dimensions import DIMENSIONS, Reading, counts, intent_bucket
from bfcl.stages.balancing.quotas import apportioned
from bfcl.stages.balancing.stock import MIX_SETTINGS, Stock, stock_of
from bfcl.stages.balancing.terms import Terms, intent_allowance, tool_call_gaps, tool_call_rows

CODE: Final = "balancing_targets_unmet"

TOOL_CALL_TOLERANCE: Final = Fraction(1, 20)
"""A tool call bucket this near its share is met."""

ALL_ROWS: Final = "all"
"""The one bucket of `publication_count`."""

Reason: TypeAlias = (
    Shortfall
    | Literal[
        "coverage_constraint",
        "insufficient_inventory",
        "coverage_or_cross_dimension_constraint",
        "intent_share_exceeded",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetTarget:
    """One bucket with another number of selected rows than asked for."""

    dimension: str
    bucket: str
    target: int
    actual: int
    inventory: int
    """Rows of the bucket that could be selected from."""
    reason: Reason

    def to_json(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in self.__slots__}


class Outcome(NamedTuple):
    """What was selected, from what, under which terms."""

    eligible: Sequence[Candidate]
    selected: Sequence[Candidate]
    terms: Terms
    budget: Budget


def unmet_targets(outcome: Outcome) -> tuple[UnmetTarget, ...]:
    """Every missed target: publication count, categories, fixed mixes, tool calls, intents; buckets sorted."""
    return (
        *_publication_count(outcome),
        *_categories(outcome),
        *(each for dimension in outcome.terms.quotas for each in _fixed_mix(outcome, dimension)),
        *_tool_calls(outcome),
        *_intents(outcome),
    )


def targets_unmet(unmet: Sequence[UnmetTarget], report: Mapping[str, Json] | None = None) -> StageError:
    """The refusal under `unmet_target_policy: abort`: one problem a target.

    Given the report they stand in, a publication that is too small is traced to what was dropped before the selection.
    """
    stock = None if report is None else stock_of(report)
    return StageError(_problem(each, stock) for each in unmet)


def _problem(missed: UnmetTarget, stock: Stock | None) -> Problem:
    message = (
        f"{missed.actual} rows are selected of {missed.inventory} there are; expected "
        f"{_EXPECTED.get(missed.dimension, '')}{missed.target} ({missed.reason})"
    )
    if missed.dimension != _PUBLICATION or missed.actual > missed.target:
        fix = _coverage_fix(missed) if missed.reason == "coverage_constraint" else _FIXES[missed.reason]
    elif stock is None:
        fix = f"{_FIXES[missed.reason]}{_lower_target(missed)}"
    else:
        message = "; ".join((message, *_shortage(missed, stock)))
        fix = _shortage_fix(missed, stock)
    return Problem(code=CODE, subject=f"{missed.dimension} `{missed.bucket}`", message=message, fix=fix)


_PUBLICATION: Final = "publication_count"

_EXPECTED: Final = {"category": "at most ", "intent": "at most "}

_FIXES: Final[dict[Reason, str]] = {
    "insufficient_candidate_inventory": "raise `task_generation.candidate_tasks_per_category`",
    "category_cap_limits_inventory": "raise `task_generation.tasks_per_category`",
    "insufficient_surface_diversity": "relax `max_exact_surface_reuse` or `min_exact_surface_ratio`, or word variants",
    "intent_cap_limits_inventory": "raise `max_rows_per_intent`",
    "execution_case_cap_limits_inventory": "raise `max_execution_case_reuse`",
    "declared_mix_exceeds_inventory": "write templates for the scarcest bucket of the mixes, or lower its share",
    "coverage_requires_more_than_declared_target": "raise `task_generation.target_published_tasks` to a row for each "
    "coverage bucket, or let templates share edge signatures",
    "insufficient_inventory": "write templates for this bucket, or lower its share",
    "coverage_or_cross_dimension_constraint": "bring the mixes nearer to the inventory: `dedup_balancing_report.json` "
    "counts it",
    "intent_share_exceeded": "write templates of other intents for this category, or raise "
    "`task_generation.max_intent_share`",
}
"""Of every reason but `coverage_constraint`, whose fix hangs on the dimension."""


def _coverage_fix(missed: UnmetTarget) -> str:
    """A category above its cap needs a higher cap; a bucket of a mix more rows in all, or another share."""
    if missed.dimension == "category":
        return "raise `task_generation.tasks_per_category`, or let templates share edge signatures"
    change = "larger" if missed.actual > missed.target else "smaller"
    # A share of nothing stays nothing, however many rows are asked for.
    more = "raise `task_generation.target_published_tasks` or `task_generation.tasks_per_category`, "
    return (
        f"{more if missed.target else ''}give `{missed.bucket}` a {change} share in "
        f"`task_generation.{MIX_SETTINGS[missed.dimension]}`, or let templates share edge signatures"
    )


def _lower_target(missed: UnmetTarget) -> str:
    """The last resort: as many rows as were selected can be had, if there were any."""
    return f"; or lower `task_generation.target_published_tasks` to {missed.actual}" if missed.actual else ""


def _shortage(missed: UnmetTarget, stock: Stock) -> Iterator[str]:
    """What else is known of too small a publication: too few rows before all other reasons."""
    few = missed.inventory < missed.target and missed.reason != "insufficient_candidate_inventory"
    said = (f"{missed.inventory} are too few, whatever else is declared" if few else None, stock.losses())
    if any(said):
        yield ": ".join(filter(None, said))
    bucket = stock.scarcest
    if missed.reason == "declared_mix_exceeds_inventory" and bucket is not None:
        yield (
            f"the scarcest bucket of the mixes is {bucket.dimension} `{bucket.name}`, with {bucket.rows} rows for a "
            f"share of {bucket.share}"
        )


def _shortage_fix(missed: UnmetTarget, stock: Stock) -> str:
    """More rows to select from come first, where there are too few; then what the reason asks for."""
    short = missed.inventory < missed.target
    first = ", and ".join(_more_rows(missed, stock)) if short else ""
    if missed.reason == "insufficient_candidate_inventory":
        return f"{first}{_lower_target(missed)}"
    then = _FIXES[missed.reason]
    bucket = stock.scarcest
    if missed.reason == "declared_mix_exceeds_inventory" and bucket is not None:
        then = f"write templates for `{bucket.name}`, or lower its share in `{bucket.setting}`"
    return f"{f'{first}; if that is not enough, ' if short else ''}{then}{_lower_target(missed)}"


def _more_rows(missed: UnmetTarget, stock: Stock) -> Iterator[str]:
    """Every way to more rows that is called for. Other values alone make near-duplicates, so those come first."""
    if stock.duplicates:
        yield "set `semantic_deduplication_config.remove_duplicates: false` or word more variants"
    for setting in stock.over_limits:
        yield f"raise `{setting}`"
    if stock.candidates < missed.target:
        yield _FIXES["insufficient_candidate_inventory"]


def _publication_count(outcome: Outcome) -> Iterator[UnmetTarget]:
    budget = outcome.budget
    if budget.target is not None and budget.shortfall is not None:
        yield UnmetTarget(
            dimension=_PUBLICATION,
            bucket=ALL_ROWS,
            target=budget.target,
            actual=len(outcome.selected),
            inventory=len(outcome.eligible),
            reason=budget.shortfall,
        )


def _categories(outcome: Outcome) -> Iterator[UnmetTarget]:
    cap = outcome.terms.category_cap
    count = _Count.of(outcome, DIMENSIONS["category"])
    for category, actual in sorted(count.actual.items()):
        if actual > cap:
            yield count.unmet("category", category, cap)


def _fixed_mix(outcome: Outcome, dimension: str) -> Iterator[UnmetTarget]:
    quotas = outcome.terms.quotas[dimension]
    count = _Count.of(outcome, DIMENSIONS[dimension])
    for bucket in sorted({*quotas, *count.inventory}):
        if count.actual[bucket] != quotas.get(bucket, 0):
            yield count.unmet(dimension, bucket, quotas.get(bucket, 0))


def _tool_calls(outcome: Outcome) -> Iterator[UnmetTarget]:
    """Buckets whose gap, by which rows were selected as well, is more of the rows counted than is tolerated."""
    terms = outcome.terms
    count = _Count.of(outcome, DIMENSIONS["tool_call_count"])
    rows = tool_call_rows(count.actual, terms)
    targets = apportioned(terms.tool_calls, rows)
    for bucket, gap in sorted(tool_call_gaps(count.actual, terms).items()):
        if abs(gap) > TOOL_CALL_TOLERANCE * terms.unit * rows:
            yield count.unmet("tool_call_count", bucket, targets[bucket])


def _intents(outcome: Outcome) -> Iterator[UnmetTarget]:
    share = outcome.terms.intent_share
    if share is None:
        return
    categories = counts(outcome.selected, DIMENSIONS["category"])
    pairs = Counter((row.category, row.intent) for row in outcome.selected)
    inventory = Counter((row.category, row.intent) for row in outcome.eligible)
    named = {(row.category, row.intent): intent_bucket(row) for row in outcome.selected}
    for pair, actual in sorted(pairs.items()):
        allowed = intent_allowance(share, categories[pair[0]])
        if actual > allowed:
            yield UnmetTarget(
                dimension="intent",
                bucket=named[pair],
                target=allowed,
                actual=actual,
                inventory=inventory[pair],
                reason="intent_share_exceeded",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """Rows along one dimension, by bucket."""

    actual: Counter[str]
    inventory: Counter[str]
    forced: Counter[str]
    """Coverage buckets all of whose rows are of this one: coverage alone needs so many rows of it."""
    size: int

    @classmethod
    def of(cls, outcome: Outcome, reading: Reading) -> _Count:
        covering: dict[CoverageBucket, set[str]] = {}
        for row in outcome.eligible:
            covering.setdefault(row.coverage_bucket, set()).add(reading(row))
        return cls(
            actual=Counter(map(reading, outcome.selected)),
            inventory=Counter(map(reading, outcome.eligible)),
            forced=Counter(next(iter(buckets)) for buckets in covering.values() if len(buckets) == 1),
            size=len(outcome.selected),
        )

    def unmet(self, dimension: str, bucket: str, target: int) -> UnmetTarget:
        return UnmetTarget(
            dimension=dimension,
            bucket=bucket,
            target=target,
            actual=self.actual[bucket],
            inventory=self.inventory[bucket],
            reason=self._reason(bucket, target),
        )

    def _reason(self, bucket: str, target: int) -> Reason:
        if self.actual[bucket] < target:
            if self.inventory[bucket] < target:
                return "insufficient_inventory"
            elsewhere = self.forced.total() - self.forced[bucket]
            forced = self.size - elsewhere < target
        else:
            forced = self.forced[bucket] > target
        return "coverage_constraint" if forced else "coverage_or_cross_dimension_constraint"
