"""What the refusal of missed targets says: facts, and a fix that leads out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.canonical import canonical_text
from bfcl.config.model import SemanticDeduplication, TaskGeneration
from bfcl.stages.balancing.candidate import Candidate
from bfcl.stages.balancing.finder import Likeness
from bfcl.stages.balancing.unmet import UnmetTarget, targets_unmet
from bfcl.stages.dedup_balancing import Balanced, Settings, balance
from tests.stages.balancing.rows import candidate, standing

ALIKE = Likeness(rows={}, components=(), effective_n_clusters=1, embedding_signature=None)

TARGET = "`task_generation.target_published_tasks`"


def balanced(rows: list[Candidate], generation: dict[str, Any], duplicates: int = 0, **caps: Any) -> Balanced:
    """The last rows are so many duplicates of the first; they are removed."""
    originals = len(rows) - duplicates
    standings = {
        row.task_id: standing(row.task_id, rows[0].task_id if number >= originals else None)
        for number, row in enumerate(rows)
    }
    asked = TaskGeneration(**{"tasks_per_category": 100, **generation})
    return balance(rows, standings, ALIKE, Settings(7, asked, SemanticDeduplication(remove_duplicates=True, **caps)))


def told(done: Balanced) -> list[str]:
    """As a run tells it, which has the report as JSON only."""
    report = json.loads(canonical_text(done.report))
    assert all(
        sorted(each) == ["actual", "bucket", "dimension", "inventory", "reason", "target"]
        for each in report["unmet_targets"]
    )
    return [
        str(problem)
        for problem in targets_unmet([UnmetTarget(**each) for each in report["unmet_targets"]], report).problems
    ]


def said(numbers: str, facts: str, fix: str) -> list[str]:
    return [f"balancing_targets_unmet: publication_count `all`: {numbers}{facts}\n  fix: {fix}"]


def turns(single: int, multi: int) -> list[Candidate]:
    return [candidate(n, num_turns=1 if n < single else 2) for n in range(single + multi)]


HALVES = {"turn_mix": {"single_turn": 0.5, "multi_turn": 0.5}}


def test_mix_that_duplicates_starve_is_told_with_bucket_and_what_was_dropped() -> None:
    # Four single-turn and two multi-turn rows are left; the other six are duplicates.
    rows = [*turns(4, 2), *(candidate(n) for n in range(6, 12))]
    assert told(balanced(rows, {"target_published_tasks": 8, **HALVES}, 6)) == said(
        "4 rows are selected of 6 there are; expected 8 (declared_mix_exceeds_inventory)",
        "; 6 are too few, whatever else is declared: 6 of 12 candidates were dropped as near-duplicates; the scarcest "
        "bucket of the mixes is turn_class `multi_turn`, with 2 rows for a share of 0.5",
        "set `semantic_deduplication_config.remove_duplicates: false` or word more variants; if that is not enough, "
        f"write templates for `multi_turn`, or lower its share in `task_generation.turn_mix`; or lower {TARGET} to 4",
    )


def test_mix_in_short_supply_is_told_with_its_bucket_where_rows_would_do() -> None:
    assert told(balanced(turns(5, 2), {"target_published_tasks": 6, **HALVES})) == said(
        "4 rows are selected of 7 there are; expected 6 (declared_mix_exceeds_inventory)",
        "; the scarcest bucket of the mixes is turn_class `multi_turn`, with 2 rows for a share of 0.5",
        f"write templates for `multi_turn`, or lower its share in `task_generation.turn_mix`; or lower {TARGET} to 4",
    )


def test_mix_in_short_supply_is_told_after_too_few_rows_though_none_was_dropped() -> None:
    assert told(balanced(turns(5, 2), {"target_published_tasks": 9, **HALVES})) == said(
        "4 rows are selected of 7 there are; expected 9 (declared_mix_exceeds_inventory)",
        "; 7 are too few, whatever else is declared; the scarcest bucket of the mixes is turn_class `multi_turn`, with "
        "2 rows for a share of 0.5",
        "raise `task_generation.candidate_tasks_per_category`; if that is not enough, write templates for "
        f"`multi_turn`, or lower its share in `task_generation.turn_mix`; or lower {TARGET} to 4",
    )


def test_too_few_candidates_are_told_with_what_was_dropped() -> None:
    rows = [candidate(n, num_turns=9 if n == 4 else 1) for n in range(8)]
    asked = {"target_published_tasks": 7, "max_turns": 3}
    assert told(balanced(rows, asked, 3)) == said(
        "4 rows are selected of 4 there are; expected 7 (insufficient_candidate_inventory)",
        "; 3 of 8 candidates were dropped as near-duplicates, 1 for `task_generation.max_turns`",
        "set `semantic_deduplication_config.remove_duplicates: false` or word more variants, and raise "
        f"`task_generation.max_turns`; or lower {TARGET} to 4",
    )
    assert told(balanced(rows, {"target_published_tasks": 9}, 1)) == said(
        "7 rows are selected of 7 there are; expected 9 (insufficient_candidate_inventory)",
        "; 1 of 8 candidates was dropped as a near-duplicate",
        "set `semantic_deduplication_config.remove_duplicates: false` or word more variants, and raise "
        f"`task_generation.candidate_tasks_per_category`; or lower {TARGET} to 7",
    )
    assert told(balanced(rows, {"target_published_tasks": 9})) == said(
        "8 rows are selected of 8 there are; expected 9 (insufficient_candidate_inventory)",
        "",
        f"raise `task_generation.candidate_tasks_per_category`; or lower {TARGET} to 8",
    )


def test_nothing_to_select_from_is_no_target_to_lower_to() -> None:
    assert told(balanced([], {"target_published_tasks": 3})) == said(
        "0 rows are selected of 0 there are; expected 3 (insufficient_candidate_inventory)",
        "",
        "raise `task_generation.candidate_tasks_per_category`",
    )


def test_cap_is_told_after_too_few_rows() -> None:
    rows = [candidate(n) for n in range(6)]
    few = balanced(rows, {"target_published_tasks": 5}, 2, max_rows_per_intent=3)
    assert told(few) == said(
        "3 rows are selected of 4 there are; expected 5 (intent_cap_limits_inventory)",
        "; 4 are too few, whatever else is declared: 2 of 6 candidates were dropped as near-duplicates",
        "set `semantic_deduplication_config.remove_duplicates: false` or word more variants; if that is not enough, "
        f"raise `max_rows_per_intent`; or lower {TARGET} to 3",
    )


def test_coverage_above_the_target_is_told_without_what_was_dropped() -> None:
    rows = [candidate(n, language=f"l{n}") for n in range(3)]
    assert told(balanced([*rows, candidate(3, language="l0")], {"target_published_tasks": 2}, 1)) == said(
        "3 rows are selected of 3 there are; expected 2 (coverage_requires_more_than_declared_target)",
        "",
        f"raise {TARGET} to a row for each coverage bucket, or let templates share edge signatures",
    )


CALLS = {"tool_call_count_mix": {"1": 0.5, "2": 0.5}}


def calls(*numbers: int) -> list[Candidate]:
    return [candidate(n, num_tool_calls=number) for n, number in enumerate(numbers)]


def test_tool_call_mix_is_not_met_by_leaving_out_all_rows_it_names() -> None:
    done = balanced(calls(0, 0, 0, 0, 1, 2), {"target_published_tasks": 2, **CALLS})
    assert [(row.tool_call_count, row.selected) for row in done.rows] == [
        *[("0", False)] * 4,
        ("1", True),
        ("2", True),
    ]
    assert done.unmet == ()


def test_tool_call_mix_without_a_row_it_names_is_missed_by_its_share_of_all_rows() -> None:
    done = balanced(calls(0, 0, 0, 0), {"target_published_tasks": 4, **CALLS})
    assert [(each.bucket, each.target, each.actual, each.reason) for each in done.unmet] == [
        ("1", 2, 0, "insufficient_inventory"),
        ("2", 2, 0, "insufficient_inventory"),
    ]
    assert done.report["target_counts"]["tool_call_count"] == {"1": 2, "2": 2}  # type: ignore[index,call-overload]


def test_tool_call_mix_of_no_rows_at_all_misses_nothing() -> None:
    assert balanced([], CALLS).unmet == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from((0, 0, 1, 2, 3)), min_size=1, max_size=9), st.integers(1, 9), st.integers(0, 4))
def test_tool_call_mix_that_is_met_exactly_in_choosing_is_never_told_as_missed(
    numbers: list[int], target: int, share: int
) -> None:
    mix = {"tool_call_count_mix": {"1": share / 4, "2": 1 - share / 4}}
    done = balanced(calls(*numbers), {"target_published_tasks": target, **mix})
    selected = [row.tool_call_count for row in done.rows if row.selected]
    named = [bucket for bucket in selected if bucket in ("1", "2")]
    told_of = {each.bucket for each in done.unmet if each.dimension == "tool_call_count"}
    for bucket, asked in mix["tool_call_count_mix"].items():
        counted = named or selected
        assert (bucket in told_of) == (abs(counted.count(bucket) / len(counted) - asked) > 0.05)


MORE = f"raise {TARGET} or `task_generation.tasks_per_category`, "


@pytest.mark.parametrize(
    ("dimension", "numbers", "fix"),
    [
        ("category", (2, 3), "raise `task_generation.tasks_per_category`"),
        ("difficulty", (2, 1), f"{MORE}give `b` a smaller share in `task_generation.difficulty_mix`"),
        ("turn_class", (1, 2), f"{MORE}give `b` a larger share in `task_generation.turn_mix`"),
        ("turn_policy", (0, 1), "give `b` a larger share in `task_generation.policy_mix`"),
        ("tool_call_count", (4, 3), f"{MORE}give `b` a smaller share in `task_generation.tool_call_count_mix`"),
    ],
)
def test_coverage_constraint_names_the_keys_to_change(dimension: str, numbers: tuple[int, int], fix: str) -> None:
    target, actual = numbers
    missed = UnmetTarget(
        dimension=dimension, bucket="b", target=target, actual=actual, inventory=5, reason="coverage_constraint"
    )
    (problem,) = targets_unmet([missed]).problems
    assert problem.fix == f"{fix}, or let templates share edge signatures"


def test_targets_unmet_says_each_of_them_at_once_and_needs_no_report() -> None:
    missed = (
        UnmetTarget(
            dimension="publication_count",
            bucket="all",
            target=6,
            actual=5,
            inventory=5,
            reason="insufficient_candidate_inventory",
        ),
        UnmetTarget(
            dimension="category", bucket="firings", target=2, actual=3, inventory=3, reason="coverage_constraint"
        ),
    )
    assert str(targets_unmet(missed)) == (
        "balancing_targets_unmet: publication_count `all`: 5 rows are selected of 5 there are; expected 6 "
        "(insufficient_candidate_inventory)\n"
        f"  fix: raise `task_generation.candidate_tasks_per_category`; or lower {TARGET} to 5\n"
        "balancing_targets_unmet: category `firings`: 3 rows are selected of 3 there are; expected at most 2 "
        "(coverage_constraint)\n"
        "  fix: raise `task_generation.tasks_per_category`, or let templates share edge signatures"
    )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_target_that_a_fix_names_is_met(data: st.DataObject) -> None:
    rows = turns(data.draw(st.integers(1, 6)), data.draw(st.integers(0, 4)))
    caps: dict[str, int] = data.draw(st.sampled_from([{}, {"max_rows_per_intent": 3}]))
    generation = {
        "target_published_tasks": data.draw(st.integers(1, 12)),
        "tasks_per_category": data.draw(st.integers(2, 12)),
        **data.draw(st.sampled_from([{}, HALVES, {"turn_mix": {"single_turn": 0.3, "multi_turn": 0.7}}])),
    }
    duplicates = data.draw(st.integers(0, len(rows) - 1))
    for missed in balanced(rows, generation, duplicates, **caps).unmet:
        if missed.dimension == "publication_count" and missed.actual < missed.target:
            lowered = balanced(rows, {**generation, "target_published_tasks": missed.actual}, duplicates, **caps)
            assert "publication_count" not in {each.dimension for each in lowered.unmet}
