"""The dimension an unselected row is left out by."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from bfcl.stages.balancing.left_out import balance_dimension
from tests.stages.balancing.rows import candidate, terms

SELECTED = [candidate(0), candidate(1, num_tool_calls=2, intent="look")]


@pytest.mark.parametrize(
    ("asked", "row", "dimension"),
    [
        ({}, {}, "publication_count"),
        ({"caps": {"exact_surface": 1}}, {"text_hash": "text0"}, "exact_surface"),
        ({"caps": {"exact_surface": 2}}, {"text_hash": "text0"}, "publication_count"),
        ({"caps": {"intent": 1}}, {}, "intent"),
        ({"caps": {"execution_case": 1}}, {"execution_case": "case1"}, "execution_case"),
        ({"category_cap": 2}, {}, "category"),
        ({"category_cap": 2}, {"category": "other"}, "publication_count"),
        ({"intent_share": Fraction(1, 3)}, {}, "intent"),
        ({"intent_share": Fraction(1, 3)}, {"intent": "unseen"}, "publication_count"),
        ({"quotas": {"difficulty": {"easy": 2}}}, {}, "difficulty"),
        ({"quotas": {"difficulty": {"easy": 2}}}, {"difficulty": "hard"}, "difficulty"),
        ({"quotas": {"difficulty": {"easy": 3}}}, {}, "publication_count"),
        ({"quotas": {"turn_class": {"single_turn": 2}}}, {}, "turn_class"),
        ({"quotas": {"turn_policy": {"single_turn": 2}}}, {}, "turn_policy"),
        ({"tool_calls": {"1": Fraction(1, 2), "2": Fraction(1, 2)}}, {}, "tool_call_count"),
        ({"tool_calls": {"1": Fraction(1, 2), "2": Fraction(1, 2)}}, {"num_tool_calls": 0}, "publication_count"),
        ({"tool_calls": {"0": Fraction(1, 2), "3+": Fraction(1, 2)}}, {"num_tool_calls": 3}, "publication_count"),
        ({"category_cap": 2, "caps": {"intent": 1}, "quotas": {"difficulty": {}}}, {}, "intent"),
        ({"category_cap": 2, "quotas": {"difficulty": {}}}, {}, "category"),
    ],
)
def test_balance_dimension_is_the_first_bound_one_more_row_would_exceed(
    asked: dict[str, Any], row: dict[str, Any], dimension: str
) -> None:
    assert balance_dimension(SELECTED, terms(2, **asked))(candidate(9, **row)) == dimension
