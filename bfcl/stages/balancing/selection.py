"""Which rows are the best selection, and the only one? Rule: generation.md §3.8.8.

Four costs are brought to their least one after the other, each held there while the next is: category overflow,
deviation from the mixes, intents above their share (only where `max_intent_share` is declared), sum of positions. What
is left are selections with equal sums. Of these the one is taken whose positions, ascending, come first in
lexicographic order; two different selections differ in that order, so the answer is unique whatever a solver returns:

1. Every selection of least sum takes the earliest rows of each class (see `program`), so it is one vector of counts.
2. Lagrange's bound in whole numbers says which rows all selections of that sum take or leave.
3. Asked for a selection of that sum that differs from a known one as much as possible, the solver either names rows
   that vary or proves that none does. Usually few vary, if any.
4. Those are settled in stable order, some at a time: the program that prefers the earlier row by weights 2^n has one
   best answer on these rows, and they are fixed before the next ones are asked about.

HiGHS proposes; each cost is recomputed from the rows in whole numbers, and counts as least only when the proven bound
excludes the next lower number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from bfcl.stages.balancing.program import Choice, choice
from bfcl.stages.balancing.solver import Answer, limit_reached, minimise, narrowed
from bfcl.stages.balancing.terms import Entrant, Score, Terms, breaches, score

MAX_ENTRANTS: Final = 50_000
"""Rows one selection is made from at most."""

FINEST_UNIT: Final = 10_000
"""Greatest common denominator of shares that become coefficients of the program, whose exactness they wear on."""

_TIES_AT_ONCE: Final = 16
"""Rows settled by one program: weights up to 2^16 stay far above what the solver's tolerance could add up to."""


class Selection(NamedTuple):
    """The best selection."""

    positions: tuple[int, ...]
    """Ascending."""
    score: Score


def select(entrants: Sequence[Entrant], terms: Terms) -> Selection | None:
    """The best selection from entrants in stable order, or None where none satisfies the terms.

    Raises: StageError `balancing_solver_limit`, `dedup_backend_unavailable`.
    """
    if len(entrants) > MAX_ENTRANTS:
        raise limit_reached(f"{len(entrants)} rows to select from, above the limit of {MAX_ENTRANTS}")
    if not entrants:
        return Selection((), score(entrants, (), terms))
    intent_unit = 1 if terms.intent_share is None else terms.intent_share.denominator
    for setting, unit in (("tool_call_count_mix", terms.unit), ("max_intent_share", intent_unit)):
        if unit > FINEST_UNIT:
            raise limit_reached(f"`task_generation.{setting}` counts in 1/{unit}, finer than 1/{FINEST_UNIT}")
    made = choice(entrants, terms)
    for number, (name, cost) in enumerate(made.costs.items()):
        if cost or number == 0:  # the first finds out whether there is any selection
            found = minimise(made.program, cost)
            if found is None:
                return None
            least = getattr(_measured(_Asked(entrants, terms, made), found), name)
            if not found.proves(least):
                raise limit_reached(f"{name} {least} is the least found, {found.bound} the least possible")
            made.program.row(cost, upper=least)
    return _earliest(_Asked(entrants, terms, made))


class _Asked(NamedTuple):
    entrants: Sequence[Entrant]
    terms: Terms
    choice: Choice


def _measured(asked: _Asked, answer: Answer) -> Score:
    """The score of the rows an answer stands for, once they are seen to satisfy the terms."""
    positions = asked.choice.selected(answer.values)
    broken = breaches(asked.entrants, positions, asked.terms)
    if broken:
        raise limit_reached(f"the solver's answer breaches {', '.join(broken)}")
    return score(asked.entrants, positions, asked.terms)


def _earliest(asked: _Asked) -> Selection:
    """The selection of least sum of positions that comes first, once the costs before are held."""
    made, program = asked.choice, asked.choice.program
    taken = _row_columns(made)
    cost = {column: position for position, column in taken.items()}
    found = minimise(program, cost)
    if found is None:
        raise limit_reached("the solver finds no selection where it found one before")
    best = _measured(asked, found)
    bound, ranges = narrowed(program, cost, best.positions)
    if bound != best.positions and not found.proves(best.positions):
        raise limit_reached(f"sum of positions {best.positions} is the least found, {found.bound} the least possible")
    program.row(cost, upper=best.positions)
    for column, (lower, upper) in enumerate(ranges):
        program.lower[column], program.upper[column] = lower, upper
    _hold_prefixes(made, taken)
    _hold_agreed(asked, taken, best, frozenset(made.selected(found.values)))
    _settle_ties(asked, taken, best)
    return Selection(made.selected(program.lower), best)


def _row_columns(made: Choice) -> dict[int, int]:
    """Position to a column that is 1 where the row is taken, added where a class has several rows.

    The added columns need not be integral: once a class has its count, the least sum takes its earliest rows whole.
    """
    program = made.program
    columns = {}
    for number, rows in enumerate(made.classes):
        if len(rows) == 1:
            columns[rows[0]] = number
            continue
        taken = {position: program.column(0, 1, integral=False) for position in rows}
        program.row({**dict.fromkeys(taken.values(), 1), number: -1}, lower=0, upper=0)
        leader = made.representatives.get(number)
        if leader is not None:  # a tighter relaxation than the row for the whole class
            for column in taken.values():
                program.row({column: 1, leader: -1}, upper=0)
        columns.update(taken)
    return columns


def _hold_prefixes(made: Choice, columns: Mapping[int, int]) -> None:
    """Carry what is settled about rows over to the counts of their classes."""
    lower, upper = made.program.lower, made.program.upper
    for number, rows in enumerate(made.classes):
        for index, position in enumerate(rows):
            if lower[columns[position]] == 1:
                lower[number] = max(lower[number], index + 1)
            if upper[columns[position]] == 0:
                upper[number] = min(upper[number], index)


def _hold_agreed(asked: _Asked, columns: Mapping[int, int], best: Score, known: frozenset[int]) -> None:
    """Fix what all selections of least sum have in common, given one of them.

    Rows that some answer takes and the known one leaves, or the other way round, vary; they are not watched any more.
    Once it is proven that no watched row varies, all of those are settled.
    """
    made = asked.choice
    watched = _open_rows(made)
    while watched:
        found = minimise(made.program, {columns[row.position]: 1 if row.position in known else -1 for row in watched})
        if found is None or _measured(asked, found) != best:
            raise limit_reached("the solver loses the selection it found before")
        same = [row for row in watched if (row.rank < found.values[row.number]) == (row.position in known)]
        if len(same) == len(watched):
            if not found.proves(sum(row.position in known for row in watched)):
                raise limit_reached(f"{len(watched)} rows of equal selections cannot be told apart")
            break
        watched = same
    for row in watched:
        _hold(made, row, taken=row.position in known)


def _hold(made: Choice, row: _OpenRow, *, taken: bool) -> None:
    lower, upper = made.program.lower, made.program.upper
    if taken:
        lower[row.number] = max(lower[row.number], row.rank + 1)
    else:
        upper[row.number] = min(upper[row.number], row.rank)


def _settle_ties(asked: _Asked, columns: Mapping[int, int], best: Score) -> None:
    """Fix every class's count, preferring the earlier row wherever selections of least sum differ."""
    made, program = asked.choice, asked.choice.program
    while rows := _open_rows(made)[:_TIES_AT_ONCE]:
        weights = {row.position: 1 << (_TIES_AT_ONCE - 1 - turn) for turn, row in enumerate(rows)}
        found = minimise(program, {columns[position]: -weight for position, weight in weights.items()})
        if found is None or _measured(asked, found) != best:
            raise limit_reached("the solver loses the selection it found before")
        taken = {row for row in rows if row.rank < found.values[row.number]}
        if not found.proves(-sum(weights[row.position] for row in taken)):
            raise limit_reached(f"{len(rows)} rows of equal selections cannot be told apart")
        for row in rows:
            _hold(made, row, taken=row in taken)


class _OpenRow(NamedTuple):
    position: int
    number: int
    """Of its class."""
    rank: int
    """Within its class."""


def _open_rows(made: Choice) -> list[_OpenRow]:
    """Rows that some selection of least sum may take and another leave, in stable order."""
    lower, upper = made.program.lower, made.program.upper
    return sorted(
        _OpenRow(rows[index], number, index)
        for number, rows in enumerate(made.classes)
        for index in range(lower[number], upper[number])
    )
