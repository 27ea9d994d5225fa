"""The best selection, against all subsets of small instances."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.stages.balancing import selection, solver
from bfcl.stages.balancing.selection import Selection, select
from bfcl.stages.balancing.solver import MAX_NODES, Answer, Program, limit_reached, minimise
from bfcl.stages.balancing.terms import Entrant, Score, Terms
from tests.stages.balancing.rows import best_of_all, candidate, entrants, instances, standing, terms


@settings(max_examples=150, deadline=None)
@given(instances())
def test_select_is_the_first_of_the_best_subsets(instance: tuple[tuple[Entrant, ...], Terms]) -> None:
    rows, asked = instance
    expected = best_of_all(rows, asked)
    assert select(rows, asked) == (None if expected is None else Selection(expected[1], expected[0]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("eh")), min_size=4, max_size=10), st.data())
def test_select_takes_the_first_of_many_equal_sums(kinds: list[tuple[str, str]], data: st.DataObject) -> None:
    rows = entrants(*(candidate(n, category=a, difficulty=b) for n, (a, b) in enumerate(kinds)))
    size = data.draw(st.integers(1, len(rows)))
    hard = data.draw(st.integers(0, size))
    asked = terms(size, category_cap=(size + 1) // 2, quotas={"difficulty": {"e": size - hard, "h": hard}})
    expected = best_of_all(rows, asked)
    assert expected is not None
    assert select(rows, asked) == Selection(expected[1], expected[0])


def test_select_settles_equal_sums_of_more_rows_than_fit_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_TIES_AT_ONCE", 1)
    # One of each category and of each difficulty: (0, 3) and (1, 2) both sum to 3, and so on down the pairs.
    kinds = [("A", "e"), ("A", "h"), ("B", "e"), ("B", "h")]
    rows = entrants(*(candidate(n, category=a, difficulty=b) for n, (a, b) in enumerate(kinds)))
    asked = terms(2, category_cap=1, quotas={"difficulty": {"e": 1, "h": 1}})
    assert select(rows, asked) == Selection((0, 3), Score(0, 0, 0, 3))


def test_select_prefers_category_overflow_over_mix_deviation_over_positions() -> None:
    rows = entrants(
        candidate(0, category="A", difficulty="easy"),
        candidate(1, category="A", difficulty="easy"),
        candidate(2, category="A", difficulty="hard"),
        candidate(3, category="B", difficulty="easy"),
        candidate(4, category="B", difficulty="hard"),
    )
    half = {"difficulty": {"easy": 1, "hard": 1}}
    assert select(rows, terms(2)) == Selection((0, 1), Score(0, 0, 0, 1))
    assert select(rows, terms(2, quotas=half)) == Selection((0, 2), Score(0, 0, 0, 2))
    assert select(rows, terms(2, quotas=half, category_cap=1)) == Selection((0, 4), Score(0, 0, 0, 4))


def test_select_keeps_a_row_of_every_coverage_bucket() -> None:
    rows = entrants(candidate(0), candidate(1), candidate(2, language="vi"), candidate(3, edge_signatures=("rare",)))
    assert select(rows, terms(3)) == Selection((0, 2, 3), Score(0, 0, 0, 5))


def test_select_takes_a_duplicate_only_with_its_representative() -> None:
    rows = (
        Entrant(candidate(0), standing("t00")),
        Entrant(candidate(1, difficulty="hard"), standing("t01")),
        Entrant(candidate(2), standing("t02", "t01")),
        Entrant(candidate(3), standing("t03", "t01")),
    )
    asked = terms(2, quotas={"difficulty": {"easy": 2}})
    assert select(rows, asked) == Selection((0, 1), Score(0, 2, 0, 1))
    assert select(rows, terms(3, quotas={"difficulty": {"easy": 3}})) == Selection((0, 1, 2), Score(0, 2, 0, 3))


def test_select_counts_tool_call_shares_among_named_buckets_only() -> None:
    rows = entrants(*(candidate(n, num_tool_calls=calls) for n, calls in enumerate((0, 0, 1, 1, 1, 2, 3))))
    asked = terms(4, tool_calls={"1": Fraction(1, 2), "2": Fraction(1, 2)})
    assert select(rows, asked) == Selection((0, 1, 2, 5), Score(0, 0, 0, 8))


def test_select_counts_tool_call_shares_among_all_rows_where_it_could_take_no_named_one() -> None:
    halves = {"1": Fraction(1, 2), "2": Fraction(1, 2)}
    # No row of a named bucket misses both shares by three rows, one of them by half a row each.
    rows = entrants(*(candidate(n, num_tool_calls=calls) for n, calls in enumerate((0, 0, 0, 0, 0, 0, 1))))
    assert select(rows, terms(6, tool_calls=halves)) == Selection((0, 1, 2, 3, 4, 6), Score(0, 2, 0, 16))
    assert select(rows[:6], terms(6, tool_calls=halves)) == Selection((0, 1, 2, 3, 4, 5), Score(0, 12, 0, 15))


@settings(max_examples=60, deadline=None)
@given(instances())
def test_select_finds_the_same_by_one_program_as_by_one_for_each_cost(
    instance: tuple[tuple[Entrant, ...], Terms],
) -> None:
    rows, asked = instance
    at_once = select(rows, asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "HEAVIEST", 0)
        assert select(rows, asked) == at_once


@settings(max_examples=40, deadline=None)
@given(instances())
def test_select_finds_the_same_with_and_without_a_search_beside_the_relaxed_program(
    instance: tuple[tuple[Entrant, ...], Terms],
) -> None:
    rows, asked = instance
    found = select(rows, asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "_beside_relaxed", lambda *_: None)
        assert select(rows, asked) == found


def test_select_minimises_one_by_one_where_one_program_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = entrants(*(candidate(n, difficulty="eh"[n // 2], category="AB"[n % 2]) for n in range(4)))
    asked = terms(2, category_cap=1, quotas={"difficulty": {"e": 1, "h": 1}})
    solved: list[int] = []

    def counted(program: Program, cost: Mapping[int, int], nodes: int = MAX_NODES) -> Answer | None:
        solved.append(nodes)
        if nodes < MAX_NODES:
            raise limit_reached("as many nodes as are tried")
        return minimise(program, cost)

    monkeypatch.setattr(selection, "minimise", counted)
    assert select(rows, asked) == Selection((0, 3), Score(0, 0, 0, 3))
    assert solved[:4] == [MAX_NODES, selection.FEW_NODES, MAX_NODES, MAX_NODES]


def test_select_asks_one_program_for_all_costs_after_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [("A", "x", "e"), ("A", "x", "h"), ("A", "y", "e"), ("B", "x", "h"), ("B", "x", "e"), ("B", "z", "h")]
    rows = entrants(*(candidate(n, category=a, intent=b, difficulty=c) for n, (a, b, c) in enumerate(kinds)))
    asked = terms(4, category_cap=2, quotas={"difficulty": {"e": 2, "h": 2}}, intent_share=Fraction(1, 2))
    best = best_of_all(rows, asked)
    assert best is not None
    monkeypatch.setattr(selection, "_one_by_one", None)
    assert select(rows, asked) == Selection(best[1], best[0])


def test_select_lowers_the_greatest_share_of_an_intent_within_its_category() -> None:
    kinds = [("A", "x"), ("A", "x"), ("A", "x"), ("A", "y"), ("B", "x"), ("B", "x"), ("B", "z")]
    rows = entrants(*(candidate(n, category=a, intent=b) for n, (a, b) in enumerate(kinds)))
    assert select(rows, terms(4, category_cap=2)) == Selection((0, 1, 4, 5), Score(0, 0, 0, 10))
    shared = terms(4, category_cap=2, intent_share=Fraction(1, 2))
    assert select(rows, shared) == Selection((0, 3, 4, 6), Score(0, 0, 0, 13))


def test_select_from_nothing_selects_nothing() -> None:
    assert select((), terms(0)) == Selection((), Score(0, 0, 0, 0))


def test_select_is_none_where_caps_leave_too_few_rows() -> None:
    assert select(entrants(candidate(0), candidate(1)), terms(2, caps={"intent": 1})) is None


def test_select_refuses_more_rows_than_it_is_measured_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_ENTRANTS", 1)
    with pytest.raises(StageError) as refused:
        select(entrants(candidate(0), candidate(1)), terms(1))
    assert str(refused.value) == (
        "balancing_solver_limit: dedup_balancing: 2 rows to select from, above the limit of 1; "
        "expected a selection proven the best one\n"
        "  fix: declare fewer mixes and caps, or lower `task_generation.candidate_tasks_per_category`"
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"tool_calls": {"1": Fraction(12345, 10**5), "2": Fraction(87655, 10**5)}},
            "`task_generation.tool_call_count_mix` counts in 1/20000",
        ),
        ({"intent_share": Fraction(123457, 10**6)}, "`task_generation.max_intent_share` counts in 1/1000000"),
    ],
)
def test_select_refuses_shares_too_fine_to_be_exact(fields: dict[str, object], said: str) -> None:
    with pytest.raises(StageError) as refused:
        select(entrants(candidate(0)), terms(1, **fields))
    assert str(refused.value).splitlines()[0] == (
        f"balancing_solver_limit: dedup_balancing: {said}, finer than 1/10000; expected a selection proven the best one"
    )
