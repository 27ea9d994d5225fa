"""How many rows are selected, and which bound that number comes from."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.config.model import SemanticDeduplication, TaskGeneration
from bfcl.stages.balancing.budget import Bound, Budget, budget
from bfcl.stages.balancing.candidate import Candidate
from tests.stages.balancing.rows import candidate


def sized(rows: list[Candidate], generation: dict[str, Any] | None = None, **caps: Any) -> Budget:
    asked = {"tasks_per_category": 100, **(generation or {})}
    return budget(rows, TaskGeneration(**asked), SemanticDeduplication(**caps))


TEN = [candidate(n, category="A" if n < 6 else "B", difficulty="easy" if n < 8 else "hard") for n in range(10)]
"""6 of category A and 4 of B, 8 easy and 2 hard, one bucket."""


def test_budget_is_all_candidates_where_nothing_bounds_it() -> None:
    assert sized(TEN).size == 10
    assert sized([]).size == 0


def test_budget_adds_up_what_each_category_may_give() -> None:
    assert sized(TEN, {"tasks_per_category": 5}).size == 9


@pytest.mark.parametrize(
    ("cap", "fields"),
    [
        ("max_exact_surface_reuse", "text_hash"),
        ("max_rows_per_intent", "intent"),
        ("max_execution_case_reuse", "execution_case"),
    ],
)
def test_budget_adds_up_what_each_capped_group_may_give(cap: str, fields: str) -> None:
    rows = [candidate(n, **{fields: "one" if n < 5 else "two" if n < 7 else f"own{n}"}) for n in range(10)]
    assert sized(rows, **{cap: 2}).size == 2 + 2 + 3


def test_budget_divides_distinct_surfaces_by_their_ratio_as_written() -> None:
    rows = [candidate(n, text_hash=str(n % 7)) for n in range(20)]
    # In binary floating point 7 / 0.7 and 7 / 0.35 are not the whole numbers they are.
    assert sized(rows, min_exact_surface_ratio=0.7).size == 10
    assert sized(rows, min_exact_surface_ratio=0.35).size == 20
    assert sized(rows, min_exact_surface_ratio=0.8).size == 8


def test_budget_stays_at_the_target() -> None:
    assert sized(TEN, {"target_published_tasks": 7}).size == 7
    assert sized(TEN, {"target_published_tasks": 70}).size == 10


def test_budget_is_lowered_until_the_quotas_of_every_fixed_mix_are_in_stock() -> None:
    asked = sized(TEN, {"difficulty_mix": {"easy": 0.5, "hard": 0.5}})
    assert (asked.size, asked.lowered_for_mixes) == (5, True)  # 5 asks for 3 easy, 2 hard; 6 for 3 hard
    assert sized(TEN, {"turn_mix": {"single_turn": 1.0}}).size == 10


def test_budget_does_not_ask_tool_call_shares_for_stock() -> None:
    assert sized(TEN, {"tool_call_count_mix": {"3+": 1.0}}).size == 10


def test_budget_never_goes_below_the_coverage_buckets() -> None:
    rows = [candidate(n, language=f"l{n}") for n in range(4)]
    assert sized(rows, {"tasks_per_category": 1}).size == 4
    assert sized(rows, {"difficulty_mix": {"hard": 1.0}}).size == 4


@pytest.mark.parametrize(
    ("generation", "caps", "reason"),
    [
        ({"target_published_tasks": 10}, {}, None),
        ({}, {}, None),
        ({"target_published_tasks": 11}, {}, "insufficient_candidate_inventory"),
        ({"target_published_tasks": 10, "tasks_per_category": 4}, {}, "category_cap_limits_inventory"),
        ({"target_published_tasks": 10}, {"max_rows_per_intent": 3}, "intent_cap_limits_inventory"),
        (
            {"target_published_tasks": 10, "difficulty_mix": {"hard": 1.0}},
            {},
            "declared_mix_exceeds_inventory",
        ),
    ],
)
def test_shortfall_names_what_keeps_the_target_from_being_met(
    generation: dict[str, Any], caps: dict[str, Any], reason: str | None
) -> None:
    assert sized(TEN, generation, **caps).shortfall == reason


@pytest.mark.parametrize(
    ("fields", "caps", "reason"),
    [
        ({"text_hash": "same"}, {"max_exact_surface_reuse": 2}, "insufficient_surface_diversity"),
        ({"text_hash": "same"}, {"min_exact_surface_ratio": 0.5}, "insufficient_surface_diversity"),
        ({"execution_case": "same"}, {"max_execution_case_reuse": 2}, "execution_case_cap_limits_inventory"),
    ],
)
def test_shortfall_names_the_group_that_repeats(fields: dict[str, Any], caps: dict[str, Any], reason: str) -> None:
    asked = sized([candidate(n, **fields) for n in range(4)], {"target_published_tasks": 4}, **caps)
    assert (asked.size, asked.shortfall) == (2, reason)


def test_shortfall_says_when_coverage_needs_more_than_the_target() -> None:
    asked = sized([candidate(n, language=f"l{n}") for n in range(3)], {"target_published_tasks": 2})
    assert (asked.size, asked.shortfall) == (3, "coverage_requires_more_than_declared_target")


def test_unreachable_names_hard_bounds_below_the_coverage_buckets() -> None:
    rows = [candidate(n, language=f"l{n}", text_hash="same") for n in range(3)]
    asked = sized(rows, {"tasks_per_category": 1}, max_rows_per_intent=2, min_exact_surface_ratio=1.0)
    assert asked.size == 3
    assert asked.unreachable == (
        Bound(1, "insufficient_surface_diversity", "semantic_deduplication_config.min_exact_surface_ratio"),
        Bound(2, "intent_cap_limits_inventory", "semantic_deduplication_config.max_rows_per_intent"),
    )
