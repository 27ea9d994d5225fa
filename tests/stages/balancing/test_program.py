"""What the costs of a program mean, in which steps they come, and shares and quotas that do not add up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.stages.balancing.program import Cost, choice
from bfcl.stages.balancing.selection import Selection, select
from tests.stages.balancing.rows import best_of_all, candidate, entrants, terms


def test_cost_counts_in_the_greatest_steps_there_are() -> None:
    cost = Cost(columns={3: 20, 5: 30}, base=-7)
    cost.coarsen()
    assert (cost.columns, cost.step) == ({3: 2, 5: 3}, 10)
    assert cost.steps(43) == 5
    with pytest.raises(ValueError, match=r"^44 is not -7 and steps of 10$"):
        cost.steps(44)


def test_cost_without_columns_keeps_its_step() -> None:
    cost = Cost()
    cost.coarsen()
    assert (cost.columns, cost.step, cost.steps(0)) == ({}, 1, 0)


def test_deviation_of_whole_mixes_comes_in_steps_of_two() -> None:
    rows = entrants(*(candidate(n, difficulty="eh"[n % 2], num_tool_calls=1 + n % 2) for n in range(4)))
    quotas = {"difficulty": {"e": 1, "h": 1}}
    assert choice(rows, terms(2, quotas=quotas)).deviation.step == 2
    halves = {"1": Fraction(1, 2), "2": Fraction(1, 2)}
    assert choice(rows, terms(2, quotas=quotas, tool_calls=halves)).deviation.step == 2
    short = {"1": Fraction(1, 2), "2": Fraction(1, 3)}
    assert choice(rows, terms(2, quotas=quotas, tool_calls=short)).deviation.step == 1


def test_choice_of_a_share_of_intents_grows_no_faster_than_their_number() -> None:
    def size(intents: int) -> int:
        rows = entrants(*(candidate(n, intent=f"i{n // 2}") for n in range(2 * intents)))
        program = choice(rows, terms(intents, intent_share=Fraction(1, 10))).program
        return sum(len(row.columns) for row in program.rows)

    assert size(200) < 2.1 * size(100)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ehm"), st.integers(0, 3)), min_size=1, max_size=8),
    st.data(),
)
def test_select_is_the_best_though_shares_and_quotas_do_not_add_up(
    kinds: list[tuple[str, int]], data: st.DataObject
) -> None:
    rows = entrants(*(candidate(n, difficulty=a, num_tool_calls=b) for n, (a, b) in enumerate(kinds)))
    size = data.draw(st.integers(1, len(rows)))
    quotas = {"e": data.draw(st.integers(0, size)), "h": data.draw(st.integers(0, size))}
    shares = {bucket: Fraction(data.draw(st.integers(0, 3)), 7) for bucket in ("1", "2")}
    asked = terms(size, quotas={"difficulty": quotas}, tool_calls=shares)
    best = best_of_all(rows, asked)
    assert best is not None
    assert select(rows, asked) == Selection(best[1], best[0])
