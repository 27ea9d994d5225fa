"""Small programs, their bounds, and what is said when nothing is proven or HiGHS is not there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest

from bfcl.errors import StageError
from bfcl.stages.balancing import solver
from bfcl.stages.balancing.solver import Answer, Program, minimise, narrowed


def knapsack() -> tuple[Program, dict[int, int]]:
    """Weights 3, 5, 7 to reach at least 8; costs 4, 6, 9."""
    program = Program()
    columns = [program.column(0, 1) for _ in range(3)]
    program.row(dict(zip(columns, (3, 5, 7), strict=True)), lower=8)
    return program, dict(zip(columns, (4, 6, 9), strict=True))


def test_minimise_returns_the_cheapest_values_and_proves_their_cost() -> None:
    program, cost = knapsack()
    found = minimise(program, cost)
    assert found is not None
    assert found.values == (1, 1, 0)
    assert found.proves(10)
    assert not found.proves(11)


def test_minimise_returns_none_where_bounds_contradict() -> None:
    program, cost = knapsack()
    program.row({0: 1, 1: 1, 2: 1}, upper=1)
    assert minimise(program, cost) is None


def chosen(number: int) -> tuple[Program, dict[int, int]]:
    """Half of so many columns, the cheapest: the relaxed program has whole values only."""
    program = Program()
    columns = [program.column(0, 1) for _ in range(number)]
    program.row(dict.fromkeys(columns, 1), lower=number // 2, upper=number // 2)
    return program, {column: column * 7 % 11 for column in columns}


def test_minimise_searches_beside_the_relaxed_values_only_where_their_bound_is_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program, cost = chosen(20)
    searched: list[Program] = []

    def seen(asked: Program, cost: Mapping[int, int], nodes: int) -> Answer | None:
        searched.append(asked)
        return find(asked, cost, nodes)

    find = solver._searched
    monkeypatch.setattr(solver, "_searched", seen)
    found = minimise(program, cost)
    assert found is not None
    assert found.proves(sum(sorted(cost.values())[:10]))
    (only,) = searched
    assert only is not program
    assert only.lower == only.upper


def test_minimise_searches_the_whole_program_where_the_relaxed_bound_is_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    program, cost = knapsack()
    monkeypatch.setattr(solver, "_beside_relaxed", lambda *_: None)
    alone = minimise(program, cost)
    monkeypatch.undo()
    assert minimise(program, cost) == alone
    assert solver._beside_relaxed(program, cost, 50) is None


def test_narrowed_keeps_every_solution_of_the_cost_asked_about() -> None:
    program, cost = knapsack()
    least, ranges = narrowed(program, cost, 13)
    assert least <= 10
    for values, total in (((1, 1, 0), 10), ((1, 0, 1), 13)):
        assert total <= 13
        assert all(low <= value <= high for value, (low, high) in zip(values, ranges, strict=True))


def test_narrowed_fixes_what_the_least_cost_decides() -> None:
    program = Program()
    for _ in range(4):
        program.column(0, 1)
    program.row({0: 1, 1: 1, 2: 1, 3: 1}, lower=2, upper=2)
    least, ranges = narrowed(program, {0: 0, 1: 1, 2: 5, 3: 7}, 1)
    assert least == 1
    assert (ranges[0], ranges[2], ranges[3]) == ((1, 1), (0, 0), (0, 0))


def test_minimise_refuses_at_the_node_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_OPTIONS", {**solver._OPTIONS, "presolve": "off"})
    program = Program()
    columns = [program.column(0, 1) for _ in range(30)]
    program.row(dict.fromkeys(columns, 2) | {columns[0]: 3}, lower=31, upper=31)
    program.row({column: (column * 7919) % 101 + 2 for column in columns}, lower=700, upper=701)
    with pytest.raises(StageError) as refused:
        minimise(program, {column: (column * 104729) % 997 for column in columns}, 0)
    assert str(refused.value) == (
        "balancing_solver_limit: dedup_balancing: HiGHS ended with `Solution limit reached` after 0 nodes; "
        "expected a selection proven the best one\n"
        "  fix: declare fewer mixes and caps, or lower `task_generation.candidate_tasks_per_category`"
    )


def test_minimise_names_the_extra_where_highspy_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(StageError) as refused:
        minimise(*knapsack())
    assert str(refused.value) == (
        "dedup_backend_unavailable: semantic_deduplication_config.enabled: is true, but `highspy`, which selects rows, "
        "is not installed; expected the extra `balance`\n"
        "  fix: pip install 'bfcl-build[balance]'"
    )


def test_minimise_prints_nothing() -> None:
    # HiGHS writes with C's stdio, which pytest sees only at exit: so in a process of its own.
    code = (
        "from bfcl.stages.balancing.solver import Program, minimise\n"
        "program = Program(); program.column(0, 1); program.row({0: 1}, lower=1)\n"
        "assert minimise(program, {0: 1}).values == (1,)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")


def test_solver_is_not_loaded_before_it_is_asked() -> None:
    code = "import sys, bfcl.stages.dedup_balancing; assert not {'highspy', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
