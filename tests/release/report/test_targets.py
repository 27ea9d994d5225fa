"""Targets of balancing: what was asked for, what was missed, and why, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest

from bfcl.canonical import Json
from bfcl.release.document.panels import SHOWN, Table
from bfcl.release.report.targets import MISSED_HEAD, REASONS, Targets, targets, untold
from bfcl.stages.balancing.unmet import Reason

NOTHING = Targets(
    asked=None, missing=None, missed=Table(path="Missed targets", columns=MISSED_HEAD, rows=(), more=0), counts=()
)


def literals(of: object) -> Iterator[str]:
    for each in get_args(of):
        if isinstance(each, str):
            yield each
        else:
            yield from literals(each)


def missed(dimension: str, bucket: str, reason: str, target: int = 1300) -> dict[str, Json]:
    return {
        "dimension": dimension,
        "bucket": bucket,
        "target": target,
        "actual": 6,
        "inventory": 15,
        "reason": reason,
    }


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(literals(Reason))


def test_head_counts_buckets_of_each_dimension() -> None:
    found = targets(
        {
            "counts": {"selected": 1052},
            "target_counts": {"publication_count": 1300},
            "unmet_targets": [
                missed("publication_count", "all", "category_cap_limits_inventory"),
                missed("intent", "a/x", "intent_share_exceeded"),
                missed("intent", "a/y", "intent_share_exceeded"),
            ],
        }
    )
    assert (found.asked, found.missing) == ("1,052 of 1,300 asked for", "publication count, intent (2)")


def test_missed_target_says_its_limit_and_its_reason() -> None:
    rows = targets(
        {
            "unmet_targets": [
                missed("intent", "a/x", "intent_share_exceeded"),
                missed("turn_class", "multi_turn", "not_known_here", target=0),
            ]
        }
    ).missed.rows
    words = "an intent has a larger share of its category's rows than it may have (intent_share_exceeded)"
    assert rows == (
        ("intent", "a/x", "at most 1,300", "6", "15", words),
        ("turn class", "multi_turn", "0", "6", "15", "not_known_here"),
    )


def test_counts_of_a_dimension_stand_side_by_side() -> None:
    tables = targets(
        {
            "target_counts": {"budget": 4, "category": {"a": 2}, "intent": {"a/x": 1}, "turn_class": {"single": 3}},
            "actual_counts": {"category": {"a": 3}, "intent": {"x": 1}, "required_tools": {'["p","q"]': 1, "[]": 2}},
            "inventory_counts": {"category": {"a": 5, "b": 1}, "intent": {"x": 4}, "required_tools": {"[oops": 3}},
        }
    ).counts
    head = ("target", "actual", "inventory")
    assert tables == (
        Table(
            path="category",
            columns=("category", *head),
            rows=(("a", "at most 2", "3", "5"), ("b", "", "0", "1")),
            more=0,
        ),
        Table(path="intent", columns=("intent", *head), rows=(("x", "", "1", "4"),), more=0),
        Table(
            path="required tools",
            columns=("required tools", *head),
            rows=(("p, q", "", "1", "0"), ("none", "", "2", "0"), ("[oops", "", "0", "3")),
            more=0,
        ),
        Table(path="turn class", columns=("turn class", *head), rows=(("single", "3", "0", "0"),), more=0),
        Table(
            path="intent within its category",
            columns=("intent within its category", "target"),
            rows=(("a/x", "at most 1"),),
            more=0,
        ),
    )


def test_long_tables_say_what_is_left_out() -> None:
    many = [missed("intent", f"a/{number}", "intent_share_exceeded") for number in range(SHOWN + 3)]
    found = targets({"unmet_targets": many}).missed
    assert (len(found.rows), found.more) == (SHOWN, 3)


@pytest.mark.parametrize(
    "report", [None, {}, "x", {"unmet_targets": 3, "target_counts": [], "counts": 1}, {"unmet_targets": ["x"]}]
)
def test_nothing_is_made_of_a_report_that_says_nothing(report: Json) -> None:
    assert targets(report) == NOTHING


def test_what_is_not_told_is_left_for_the_lines() -> None:
    report = {"counts": {"selected": 4}, "unmet_targets": [], "actual_counts": {}, "inventory_counts": {}}
    assert untold({**report, "target_counts": {"budget": 4, "category": {"a": 2}}}) == {
        "counts": {"selected": 4},
        "target_counts": {"budget": 4},
    }
    assert untold(report) == {"counts": {"selected": 4}}
