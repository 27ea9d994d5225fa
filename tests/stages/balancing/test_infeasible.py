"""Refusals of what no selection satisfies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from bfcl.config.model import SemanticDeduplication, TaskGeneration
from bfcl.errors import StageError
from bfcl.stages.balancing.budget import budget
from bfcl.stages.balancing.infeasible import infeasible, refuse_unreachable
from bfcl.stages.balancing.terms import Entrant, Terms
from tests.stages.balancing.rows import best_of_all, candidate, entrants, instances, terms


def test_refuse_unreachable_names_every_bound_below_coverage() -> None:
    rows = [candidate(n, language=f"l{n}", text_hash="same") for n in range(3)]
    caps: dict[str, Any] = {"max_rows_per_intent": 2, "min_exact_surface_ratio": 1.0}
    with pytest.raises(StageError) as refused:
        refuse_unreachable(budget(rows, TaskGeneration(tasks_per_category=9), SemanticDeduplication(**caps)))
    assert str(refused.value) == (
        "balancing_infeasible: semantic_deduplication_config.min_exact_surface_ratio: allows 1 rows; expected room for "
        "one of each of 3 coverage buckets\n"
        "  fix: relax it, or let templates share edge signatures\n"
        "balancing_infeasible: semantic_deduplication_config.max_rows_per_intent: allows 2 rows; expected room for "
        "one of each of 3 coverage buckets\n"
        "  fix: relax it, or let templates share edge signatures"
    )


def test_refuse_unreachable_passes_a_budget_within_its_bounds() -> None:
    allowed = budget([candidate(0)], TaskGeneration(), SemanticDeduplication(max_rows_per_intent=1))
    assert allowed.size == 1
    refuse_unreachable(allowed)


def test_infeasible_names_each_bound_without_which_there_is_a_selection() -> None:
    # Any two rows share an intent or a surface.
    rows = entrants(
        candidate(0, intent="x", text_hash="1"),
        candidate(1, intent="x", text_hash="2"),
        candidate(2, intent="y", text_hash="1"),
    )
    asked = terms(3, caps={"exact_surface": 1, "intent": 2})
    assert str(infeasible(rows, asked)) == (
        "balancing_infeasible: semantic_deduplication_config.max_exact_surface_reuse: leaves no selection of 3 rows "
        "that covers every bucket; without it there is one\n"
        "  fix: relax it, lower `task_generation.target_published_tasks`, or add templates and slot values"
    )


def test_infeasible_names_all_bounds_where_relaxing_one_is_not_enough() -> None:
    rows = entrants(*(candidate(n, intent="x", text_hash="1") for n in range(3)))
    asked = terms(3, caps={"exact_surface": 1, "intent": 2}, surfaces=2)
    assert str(infeasible(rows, asked)) == (
        "balancing_infeasible: semantic_deduplication_config.max_exact_surface_reuse, "
        "semantic_deduplication_config.max_rows_per_intent, semantic_deduplication_config.min_exact_surface_ratio: "
        "leave no selection of 3 rows that covers every bucket, and leaving out one of them is not enough\n"
        "  fix: relax several, lower `task_generation.target_published_tasks`, or add templates and slot values"
    )


@settings(max_examples=60, deadline=None)
@given(instances())
def test_infeasible_always_names_a_declared_bound(instance: tuple[tuple[Entrant, ...], Terms]) -> None:
    rows, asked = instance
    buckets = {entrant.candidate.coverage_bucket for entrant in rows}
    if asked.size >= len(buckets) and best_of_all(rows, asked) is None:
        assert all(
            str(problem.subject).startswith("semantic_deduplication_config.m")
            for problem in infeasible(rows, asked).problems
        )
