"""Rates, their gap and its conservative interval, whole and by stratum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.digest import sha256_of
from bfcl.evaluate.held_out.measures import Comparison, Side, Standing, Stratum, compared, standing, strata_of
from bfcl.evaluate.records import FailureRecord, TaskScore
from bfcl.evaluate.score.intervals import wilson
from bfcl.evaluate.score.rates import Rate
from tests.evaluate.held_out.bench import Bench

READ, BOTH = Stratum("get_kiln", "single_turn"), Stratum("get_kiln", "multi_tool")
FIRING, TALK = Stratum("get_firing", "multi_tool"), Stratum(None, "irrelevant")


def all_of(rate: Rate) -> Standing:
    """Nothing of it was stopped."""
    return Standing(whole=rate, own=rate)


NOTHING, RIGHT = Rate(successes=0, tasks=0), all_of(Rate(successes=1, tasks=1))


def score(task_id: str, *codes: str) -> TaskScore:
    """A task that failed by these codes, or succeeded without."""
    failures = tuple(FailureRecord(layer="gate", code=code, attribution="candidate", subject="gate") for code in codes)
    return TaskScore(
        candidate_alias="small",
        task_id=task_id,
        mode="trace",
        trial=0,
        episode_status="candidate_mismatch" if codes else "completed",
        gates=(),
        task_success=not codes,
        non_candidate_stop=False,
        failures=failures,
        counts={},
        score_hash=sha256_of(task_id.encode()),
    )


counts = st.integers(1, 60).flatmap(lambda tasks: st.tuples(st.integers(0, tasks), st.just(tasks)))


@given(seen=counts, hidden=counts)
def test_gap_interval_spans_from_the_worst_of_one_to_the_best_of_the_other(
    seen: tuple[int, int], hidden: tuple[int, int]
) -> None:
    told = Comparison(
        seen=all_of(Rate(successes=seen[0], tasks=seen[1])),
        held_out=all_of(Rate(successes=hidden[0], tasks=hidden[1])),
    ).to_json()
    assert told["gap"] == told["gap_excluding_non_candidate_stops"]
    ours, theirs = wilson(*seen), wilson(*hidden)
    assert ours is not None
    assert theirs is not None
    value = seen[0] / seen[1] - hidden[0] / hidden[1]
    assert told["gap"] == {"value": value, "interval": {"low": ours.low - theirs.high, "high": ours.high - theirs.low}}
    assert ours.low - theirs.high <= value <= ours.high - theirs.low


def test_gap_is_null_where_a_side_has_no_task() -> None:
    told = Comparison(seen=all_of(Rate(successes=1, tasks=2)), held_out=all_of(NOTHING)).to_json()
    assert told["gap"] is None
    none = {"successes": 0, "tasks": 0, "success_rate": None, "interval": None}
    assert told["held_out"] == {**none, "non_candidate_stops": 0, "excluding_non_candidate_stops": none}


def test_gap_counts_what_the_run_stopped_as_failed_and_stands_beside_one_that_leaves_it_out() -> None:
    seen = Standing(whole=Rate(successes=3, tasks=4), own=Rate(successes=3, tasks=3))
    hidden = Standing(whole=Rate(successes=1, tasks=4), own=Rate(successes=1, tasks=1))
    told: Any = Comparison(seen=seen, held_out=hidden).to_json()
    assert told["gap"]["value"] == 0.5
    assert told["gap_excluding_non_candidate_stops"]["value"] == 0.0
    assert [told[side]["non_candidate_stops"] for side in ("seen", "held_out")] == [1, 3]
    own = told["held_out"]["excluding_non_candidate_stops"]
    assert (own["successes"], own["tasks"], own["success_rate"]) == (1, 1, 1.0)
    low = told["seen"]["excluding_non_candidate_stops"]["interval"]["low"] - own["interval"]["high"]
    assert told["gap_excluding_non_candidate_stops"]["interval"]["low"] == low < 0.0


@pytest.mark.parametrize("side", ["seen", "held_out"])
def test_gap_is_null_where_all_of_a_side_was_stopped(side: str) -> None:
    stopped = Standing(whole=Rate(successes=0, tasks=5), own=NOTHING)
    sides = {"seen": all_of(Rate(successes=2, tasks=4)), "held_out": all_of(Rate(successes=2, tasks=4)), side: stopped}
    told = Comparison(**sides).to_json()
    assert (told["gap"], told["gap_excluding_non_candidate_stops"]) == (None, None)


def test_standing_takes_apart_what_the_run_stopped() -> None:
    scores = [score("a"), score("b", "x"), replace(score("c", "x"), non_candidate_stop=True)]
    assert standing(iter(scores)) == Standing(whole=Rate(successes=1, tasks=3), own=Rate(successes=1, tasks=2))


def test_strata_of_has_one_for_each_tool_and_one_for_none(bench: Bench) -> None:
    by_template = {row.published["template_id"]: strata_of(row) for row in bench.verified.rows}
    assert by_template["kiln_status"] == (READ,)
    assert by_template["kiln_and_firing"] == (FIRING, BOTH)
    assert by_template["out_of_scope"] == (TALK,)


def test_compared_has_the_strata_of_both_sides_those_without_calls_first() -> None:
    seen = Side(
        scores=[score("a"), score("b", "x"), score("c"), score("d")],
        strata={"a": (READ,), "b": (READ,), "c": (FIRING, BOTH), "d": (TALK,)},
    )
    hidden = Side(scores=[score("p", "x"), score("q"), score("r")], strata={"p": (READ,), "q": (FIRING,), "r": (TALK,)})
    assert list(compared(seen, hidden).items()) == [
        (TALK, Comparison(seen=RIGHT, held_out=RIGHT)),
        (FIRING, Comparison(seen=RIGHT, held_out=RIGHT)),
        (READ, Comparison(seen=all_of(Rate(successes=1, tasks=2)), held_out=all_of(Rate(successes=0, tasks=1)))),
    ]


@pytest.mark.parametrize(("codes", "wanted"), [((), {}), (("b", "a", "a"), {"a": 1, "b": 1})])
def test_failures_count_a_task_once_under_each_of_its_codes(codes: tuple[str, ...], wanted: dict[str, int]) -> None:
    told = Side(scores=[score("a", *codes)], strata={}).failures()
    assert list(told.items()) == list(wanted.items())
