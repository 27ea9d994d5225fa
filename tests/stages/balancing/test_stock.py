"""What a report tells of candidates, drops and the mixes."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.canonical import Json
from bfcl.stages.balancing.stock import Bucket, Stock, stock_of

MIXES = ("difficulty_mix", "turn_mix", "policy_mix", "tool_call_count_mix")


def report(**mixes: dict[str, float]) -> dict[str, Json]:
    declared: dict[str, Json] = {name: mixes.get(name) for name in MIXES}
    return {
        "counts": {"stage_ten_survivors": 9, "semantic_duplicate_drops": 2, "selected": 1},
        "hard_limit_drops": {"max_turns_exceeded": 0, "max_tool_calls_exceeded": 1},
        "inventory_counts": {
            "difficulty": {"easy": 4, "hard": 2},
            "turn_class": {"single_turn": 6},
            "turn_policy": {"single_turn": 6},
            "tool_call_count": {"0": 0, "1": 6, "2": 0, "3+": 0},
        },
        "lineage": {"settings": {"task_generation": {"tasks_per_category": 9, **declared}}},
    }


def test_stock_counts_candidates_and_drops() -> None:
    assert stock_of(report()) == Stock(9, 2, {"task_generation.max_tool_calls": 1}, None)


@pytest.mark.parametrize(
    ("mixes", "scarcest"),
    [
        ({"difficulty_mix": {"easy": 0.8, "hard": 0.2}}, Bucket("difficulty", "easy", 0.8, 4)),
        ({"difficulty_mix": {"easy": 0.1, "hard": 0.9}}, Bucket("difficulty", "hard", 0.9, 2)),
        # A bucket nothing is asked of is not scarce, one without any row is scarcest.
        (
            {"difficulty_mix": {"easy": 0.1, "hard": 0.9}, "turn_mix": {"multi_turn": 0.0, "single_turn": 1.0}},
            Bucket("difficulty", "hard", 0.9, 2),
        ),
        (
            {"difficulty_mix": {"easy": 0.1, "hard": 0.9}, "policy_mix": {"correction": 0.1, "single_turn": 0.9}},
            Bucket("turn_policy", "correction", 0.1, 0),
        ),
        # Its shares lower no budget.
        ({"tool_call_count_mix": {"2": 1.0}}, None),
    ],
)
def test_stock_names_the_bucket_with_fewest_rows_for_its_share(mixes: Any, scarcest: Bucket | None) -> None:
    assert stock_of(report(**mixes)).scarcest == scarcest


def test_bucket_names_the_setting_of_its_share() -> None:
    assert Bucket("turn_class", "multi_turn", 0.5, 26).setting == "task_generation.turn_mix"


@pytest.mark.parametrize(
    ("duplicates", "limits", "said"),
    [
        (0, {}, None),
        (1, {}, "1 of 9 candidates was dropped as a near-duplicate"),
        (3, {}, "3 of 9 candidates were dropped as near-duplicates"),
        (0, {"task_generation.max_turns": 1}, "1 of 9 candidates was dropped for `task_generation.max_turns`"),
        (
            3,
            {"task_generation.max_turns": 2, "task_generation.max_tool_calls": 1},
            "3 of 9 candidates were dropped as near-duplicates, 2 for `task_generation.max_turns`, "
            "1 for `task_generation.max_tool_calls`",
        ),
    ],
)
def test_losses_tell_how_many_candidates_went_and_why(duplicates: int, limits: dict[str, int], said: str) -> None:
    assert Stock(9, duplicates, limits, None).losses() == said
