"""Tables: what their cells say."""

from __future__ import annotations

from bfcl.evaluate.page import tables
from bfcl.evaluate.page.comparison import comparisons
from bfcl.evaluate.page.usage import Usage, usage_of
from tests.evaluate.page.pages import Told, entrant, page_data
from tests.evaluate.page.test_usage import refused, replied
from tests.evaluate.score.episodes import ANSWERS

MIXED: list[Told] = [None, ANSWERS["wrong_value"], ANSWERS["unreachable"], None, ANSWERS["words"]]


def test_failing_gates_count_failures_in_gate_order_by_who_is_answerable() -> None:
    data = page_data({"a": MIXED, "b": [ANSWERS["permuted"], *[None] * 4]})
    assert tables.failing_gates(data.labelled()) == [
        ("tool_selection", "candidate", "a", 1),
        ("tool_selection", "infrastructure", "a", 1),
        ("arguments", "candidate", "a", 1),
        ("call_ordering", "candidate", "b", 1),
    ]


def test_comparison_rows_tell_difference_in_points_and_both_p_values() -> None:
    data = page_data({"a": [None] * 8, "b": [ANSWERS["words"]] * 6 + [None] * 2})
    (made,) = comparisons(data.labelled()).made
    (row,) = tables.comparison_rows([made])
    assert row[:7] == ("a against b", "2", "6", "0", "0", "0", "+75.0 points")
    assert row[7].endswith(" points (4 templates)")
    assert row[8:] == ("0.0312", "0.0312")
    assert len(row) == len(tables.COMPARISON_HEAD)
    groups = tables.group_rows(made)
    assert len(groups[0]) == len(tables.GROUP_HEAD)
    assert ("turn policy", "single_turn", "4", "4", "0", "+100.0 points", "0.1250") in [row[:7] for row in groups]


def test_usage_row_tells_what_is_known_and_never_guesses() -> None:
    usage = usage_of([replied(0.1234), replied(0.3, None), refused("provider_rejected", 400)])
    assert tables.usage_row("a", usage) == (
        "a",
        "3",
        "3",
        "10 (replies that do not tell: 1)",
        "3 (replies that do not tell: 1)",
        "13",
        "123 ms",
        "300 ms",
        "provider_rejected: 1",
        "400: 1",
    )
    nothing: Usage = usage_of([])
    assert tables.usage_row("a", nothing) == ("a", "0", "0", "–", "–", "–", "–", "–", "none", "none")
    assert len(tables.USAGE_HEAD) == len(tables.usage_row("a", nothing))


def test_repeats_are_told_for_each_k_and_each_gate() -> None:
    wrong = ANSWERS["wrong_value"]
    told = entrant("a", [None, wrong], [[wrong, wrong], [None, wrong]]).repeated
    assert told is not None
    assert tables.pass_rows("a", told) == [
        ("a", "1", "2", "33.3%", "33.3%"),
        ("a", "2", "2", "16.7%", "50.0%"),
        ("a", "3", "2", "0.0%", "50.0%"),
    ]
    assert tables.flip_rows("a", told)[0] == ("a", "task_success", "1", "2", "50.0%")
