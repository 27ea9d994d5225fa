"""How many rows are to be selected, and what keeps it from being more? Rule: generation.md §3.8.7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from bfcl.config.model import SemanticDeduplication, TaskGeneration
from bfcl.stages.balancing.candidate import Candidate
from bfcl.stages.balancing.dimensions import DIMENSIONS, GROUPS, GroupName, counts
from bfcl.stages.balancing.quotas import apportioned, exact, exact_mix

Shortfall: TypeAlias = Literal[
    "insufficient_candidate_inventory",
    "category_cap_limits_inventory",
    "insufficient_surface_diversity",
    "intent_cap_limits_inventory",
    "execution_case_cap_limits_inventory",
    "declared_mix_exceeds_inventory",
    "coverage_requires_more_than_declared_target",
]
"""Why fewer or more rows are selected than `target_published_tasks` asks for."""

CATEGORY_CAP: Final = "task_generation.tasks_per_category"
SURFACE_RATIO: Final = "semantic_deduplication_config.min_exact_surface_ratio"
CAP_SETTINGS: Final[Mapping[GroupName, str]] = {
    "exact_surface": "semantic_deduplication_config.max_exact_surface_reuse",
    "intent": "semantic_deduplication_config.max_rows_per_intent",
    "execution_case": "semantic_deduplication_config.max_execution_case_reuse",
}
_CAP_REASONS: Final[Mapping[GroupName, Shortfall]] = {
    "exact_surface": "insufficient_surface_diversity",
    "intent": "intent_cap_limits_inventory",
    "execution_case": "execution_case_cap_limits_inventory",
}


class Bound(NamedTuple):
    """At most so many rows, because of a setting; the first bound is that of the candidates themselves."""

    rows: int
    reason: Shortfall
    setting: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Rows to select, and how that number came about."""

    size: int
    buckets: int
    """Coverage buckets, each of which needs a row."""
    target: int | None
    """`target_published_tasks`."""
    bounds: tuple[Bound, ...]
    lowered_for_mixes: bool

    @property
    def shortfall(self) -> Shortfall | None:
        """Why the target is missed, or None where it is met or none is declared."""
        if self.target is None or self.size == self.target:
            return None
        if self.size > self.target:
            return "coverage_requires_more_than_declared_target"
        if self.lowered_for_mixes:
            return "declared_mix_exceeds_inventory"
        return min(self.bounds, key=lambda bound: bound.rows).reason

    @property
    def unreachable(self) -> tuple[Bound, ...]:
        """Hard bounds below the budget, which coverage alone can bring about: no selection has so many rows."""
        return tuple(bound for bound in self.bounds if bound.rows < self.size and bound.setting != CATEGORY_CAP)


def group_caps(settings: SemanticDeduplication) -> dict[GroupName, int]:
    """The declared caps on rows of one group."""
    declared: dict[GroupName, int | None] = {
        "exact_surface": settings.max_exact_surface_reuse,
        "intent": settings.max_rows_per_intent,
        "execution_case": settings.max_execution_case_reuse,
    }
    return {name: cap for name, cap in declared.items() if cap is not None}


def fixed_mixes(generation: TaskGeneration) -> dict[str, Mapping[str, float]]:
    """The declared mixes whose quotas are whole numbers of the budget, by dimension."""
    declared = {
        "difficulty": generation.difficulty_mix,
        "turn_class": generation.turn_mix,
        "turn_policy": generation.policy_mix,
    }
    return {dimension: mix for dimension, mix in declared.items() if mix is not None}


def budget(candidates: Sequence[Candidate], generation: TaskGeneration, settings: SemanticDeduplication) -> Budget:
    """The number of rows to select from candidates that may all be selected."""
    bounds = _bounds(candidates, generation, settings)
    buckets = len({candidate.coverage_bucket for candidate in candidates})
    most = min(bound.rows for bound in bounds)
    if generation.target_published_tasks is not None:
        most = min(most, generation.target_published_tasks)
    size = max(most, buckets)
    fitting = _fitting(size, buckets, candidates, fixed_mixes(generation))
    return Budget(
        size=fitting,
        buckets=buckets,
        target=generation.target_published_tasks,
        bounds=bounds,
        lowered_for_mixes=fitting < size,
    )


def _bounds(
    candidates: Sequence[Candidate], generation: TaskGeneration, settings: SemanticDeduplication
) -> tuple[Bound, ...]:
    by_category = counts(candidates, DIMENSIONS["category"])
    in_categories = sum(min(number, generation.tasks_per_category) for number in by_category.values())
    bounds = [
        Bound(len(candidates), "insufficient_candidate_inventory", None),
        Bound(in_categories, "category_cap_limits_inventory", CATEGORY_CAP),
    ]
    for name, cap in group_caps(settings).items():
        rows = sum(min(number, cap) for number in counts(candidates, GROUPS[name]).values())
        bounds.append(Bound(rows, _CAP_REASONS[name], CAP_SETTINGS[name]))
    if settings.min_exact_surface_ratio is not None:
        surfaces = len({candidate.text_hash for candidate in candidates})
        rows = int(surfaces / exact(settings.min_exact_surface_ratio))
        bounds.insert(2, Bound(rows, "insufficient_surface_diversity", SURFACE_RATIO))
    return tuple(bounds)


def _fitting(size: int, least: int, candidates: Sequence[Candidate], mixes: Mapping[str, Mapping[str, float]]) -> int:
    """The greatest number of rows from `size` down to `least` whose quotas are all in stock, else `least`."""
    stocks = {dimension: counts(candidates, DIMENSIONS[dimension]) for dimension in mixes}
    shares = {dimension: exact_mix(mix) for dimension, mix in mixes.items()}
    for rows in range(size, least, -1):
        if all(
            number <= stocks[dimension].get(bucket, 0)
            for dimension, mix in shares.items()
            for bucket, number in apportioned(mix, rows).items()
        ):
            return rows
    return least
