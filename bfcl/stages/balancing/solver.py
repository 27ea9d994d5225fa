"""What is the least an integer program can cost, proven? The only place that meets HiGHS. Rule: generation.md §3.8.

A program has integer coefficients and bounds, and a cost that is an integer wherever its integral columns are. HiGHS
computes with floating point; so its answer is never taken for exact. Callers recompute the cost in integers from the
rounded integral columns, and ask `proves` whether the bound HiGHS ends with excludes a lower one. No clock limits the
search, since a slow machine would then decide differently: limits are of size and of nodes; meeting one is a refusal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

from bfcl.errors import Problem, StageError, install

if TYPE_CHECKING:
    import highspy

MAX_NODES: Final = 20_000
"""Branch-and-bound nodes of one program. What people declare is mostly settled at the root."""

_OPTIONS: Final[Mapping[str, bool | int | float | str]] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
    # A restart repeats the cuts of the root, where these programs spend their time.
    "mip_allow_restart": False,
}

DUAL_STEP: Final = 1 << 20
"""Multipliers are rounded to this many parts of one: any multipliers give a valid bound, rounded ones an exact one."""

BESIDE_NODES: Final = 50
"""Nodes spent on values beside the relaxed program's: where they do it is mostly without any."""

_NEAR: Final = 1e-6
"""Values of the relaxed program nearer to a whole number than this are that number."""

_NEEDLESS: Final = 0.999
"""A lower bound on an integer cost that is less than this below it leaves room for no lower integer."""


class Row(NamedTuple):
    """`lower <= sum of coefficient x column <= upper`; None is no bound."""

    columns: tuple[int, ...]
    coefficients: tuple[int, ...]
    lower: int | None
    upper: int | None


@dataclass(slots=True, kw_only=True)
class Program:
    """Columns and rows, numbered in the order they were added. Every column has two finite bounds."""

    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    integral: list[bool] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def column(self, lower: int, upper: int, *, integral: bool = True) -> int:
        """Add a column and return its number."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.integral.append(integral)
        return len(self.lower) - 1

    def row(self, terms: Mapping[int, int], *, lower: int | None = None, upper: int | None = None) -> None:
        """Add a row over columns already added; `terms` is column to coefficient."""
        self.rows.append(Row(tuple(terms), tuple(terms.values()), lower, upper))


class Answer(NamedTuple):
    """Integral columns rounded, others 0; and what is proven that no solution costs less than."""

    values: tuple[int, ...]
    bound: float
    cost: int
    """As HiGHS counts it."""

    def proves(self, cost: int) -> bool:
        """Whether no integer cost below this one is possible."""
        return cost - self.bound < _NEEDLESS


def minimise(program: Program, cost: Mapping[int, int], nodes: int = MAX_NODES) -> Answer | None:
    """A cheapest solution, or None where the program has none. `nodes` limits the search.

    Raises: StageError `balancing_solver_limit` where HiGHS ends without a proof, `dedup_backend_unavailable` for none.
    """
    return _beside_relaxed(program, cost, min(nodes, BESIDE_NODES)) or _searched(program, cost, nodes)


def _beside_relaxed(program: Program, cost: Mapping[int, int], nodes: int) -> Answer | None:
    """A solution between the whole numbers beside the relaxed program's values, if it costs no more than that allows.

    Most columns then have one value left. The whole program would have its cuts separated first, which takes most of
    the time and decides nothing where the relaxed program's bound is met.
    """
    relaxed = _loaded(program, cost, relaxed=True)
    relaxed.run()
    if relaxed.getModelStatus() != solver().HighsModelStatus.kOptimal:
        return None
    solution = relaxed.getSolution()
    beside = Program(integral=list(program.integral), rows=program.rows)
    for value, lower, upper, whole in zip(
        solution.col_value, program.lower, program.upper, program.integral, strict=True
    ):
        near = max(lower, math.floor(value + _NEAR)), min(upper, math.ceil(value - _NEAR))
        # A value outside its bounds by a tolerance must not turn them round.
        least, most = near if whole and near[0] <= near[1] else (lower, upper)
        beside.lower.append(least)
        beside.upper.append(most)
    least_cost = float(-(-_bounded(program, cost, solution.row_dual).least // DUAL_STEP))
    try:
        found = _searched(beside, cost, nodes)
    except StageError:
        return None
    if found is None or not found._replace(bound=least_cost).proves(found.cost):
        return None
    return found._replace(bound=least_cost)


def _searched(program: Program, cost: Mapping[int, int], nodes: int) -> Answer | None:
    highs = _loaded(program, cost, relaxed=False)
    highs.setOptionValue("mip_max_nodes", nodes)
    highs.run()
    status = highs.getModelStatus()
    known = solver().HighsModelStatus
    if status in (known.kInfeasible, known.kUnboundedOrInfeasible):  # every column is bounded
        return None
    if status != known.kOptimal:
        raise limit_reached(
            f"HiGHS ended with `{highs.modelStatusToString(status)}` after {highs.getInfo().mip_node_count} nodes"
        )
    values = highs.getSolution().col_value
    info = highs.getInfo()
    bound = info.mip_dual_bound if any(program.integral) else info.objective_function_value
    rounded = tuple(round(value) if whole else 0 for value, whole in zip(values, program.integral, strict=True))
    return Answer(rounded, bound, round(info.objective_function_value))


class _Bounded(NamedTuple):
    """What multipliers of the rows prove, in `DUAL_STEP` parts of one."""

    least: int
    """No solution costs less."""
    reduced: list[int]
    """What one more of each column adds to that."""


def _bounded(program: Program, cost: Mapping[int, int], duals: Sequence[float]) -> _Bounded:
    """Lagrange's bound: `sum of multiplier x side over rows + sum of least reduced cost over columns`.

    It holds for any multipliers; those of the relaxed program are rounded first, and nothing after.
    """
    reduced = [0] * len(program.lower)
    for column, amount in cost.items():
        reduced[column] = amount * DUAL_STEP
    least = 0
    for row, dual in zip(program.rows, duals, strict=True):
        multiplier = round(dual * DUAL_STEP)
        side = row.lower if multiplier > 0 else row.upper
        if multiplier == 0 or side is None:
            continue
        least += multiplier * side
        for column, coefficient in zip(row.columns, row.coefficients, strict=True):
            reduced[column] -= multiplier * coefficient
    for column, amount in enumerate(reduced):
        least += amount * (program.lower[column] if amount > 0 else program.upper[column])
    return _Bounded(least, reduced)


def narrowed(program: Program, cost: Mapping[int, int], best: int) -> tuple[int, list[tuple[int, int]]]:
    """Which values can columns take in solutions that cost at most `best`? Proven in integers, by Lagrange's bound.

    Returns a cost no solution goes below, rounded up, and per column the least and greatest value, for columns whose
    value is a whole number in the solutions asked about.
    """
    highs = _loaded(program, cost, relaxed=True)
    highs.run()
    least, reduced = _bounded(program, cost, highs.getSolution().row_dual)
    room = best * DUAL_STEP - least
    return -(-least // DUAL_STEP), [
        _range(program.lower[column], program.upper[column], amount, room) for column, amount in enumerate(reduced)
    ]


def _range(lower: int, upper: int, reduced: int, room: int) -> tuple[int, int]:
    if reduced > 0:
        return lower, min(upper, lower + room // reduced)
    if reduced < 0:
        return max(lower, upper - room // -reduced), upper
    return lower, upper


def limit_reached(seen: str) -> StageError:
    """The refusal of a selection that cannot be proven the best one."""
    return StageError(
        Problem(
            code="balancing_solver_limit",
            subject="dedup_balancing",
            message=f"{seen}; expected a selection proven the best one",
            fix="declare fewer mixes and caps, or lower `task_generation.candidate_tasks_per_category`",
        )
    )


def solver() -> ModuleType:
    """The `highspy` module. Raises: StageError `dedup_backend_unavailable` where it is not installed."""
    try:
        import highspy
    except ImportError:
        raise StageError(
            Problem(
                code="dedup_backend_unavailable",
                subject="semantic_deduplication_config.enabled",
                message="is true, but `highspy`, which selects rows, is not installed; expected the extra `balance`",
                fix=install("balance"),
            )
        ) from None
    return highspy


def _loaded(program: Program, cost: Mapping[int, int], *, relaxed: bool) -> highspy.Highs:
    """HiGHS holding the program. `relaxed` forgets that columns are integral."""
    module = solver()
    # The class's own constructor prints a banner before any option can silence it; its base's does not.
    highs: highspy.Highs = module.Highs.__new__(module.Highs)
    super(module.Highs, highs).__init__()
    for option, value in _OPTIONS.items():
        highs.setOptionValue(option, value)
    model = module.HighsLp()
    model.num_col_, model.num_row_ = len(program.lower), len(program.rows)
    model.col_lower_, model.col_upper_ = program.lower, program.upper
    model.col_cost_ = [cost.get(column, 0) for column in range(len(program.lower))]
    model.row_lower_ = [-module.kHighsInf if row.lower is None else row.lower for row in program.rows]
    model.row_upper_ = [module.kHighsInf if row.upper is None else row.upper for row in program.rows]
    model.a_matrix_.format_ = module.MatrixFormat.kRowwise
    model.a_matrix_.start_ = [0, *accumulate(len(row.columns) for row in program.rows)]
    model.a_matrix_.index_ = [column for row in program.rows for column in row.columns]
    model.a_matrix_.value_ = [coefficient for row in program.rows for coefficient in row.coefficients]
    if not relaxed:
        kinds = module.HighsVarType
        model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in program.integral]
    highs.passModel(model)
    return highs
