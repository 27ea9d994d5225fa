"""Which rows are the best selection, and the only one? Rule: generation.md §3.8.8.

Four costs are brought to their least one after the other, each held there while the next is: category overflow,
deviation from the mixes, intents above their share (only where `max_intent_share` is declared), sum of positions. Where
the numbers are small enough the last three take one program, in which a step of one weighs more than all of the next:
it takes about as long as each of three. What is left are selections with equal sums. Of these the one is taken whose
positions, ascending, come first in lexicographic order; two different selections differ in that order, so the answer is
unique whatever a solver returns:

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

from bfcl.errors import StageError
from bfcl.stages.balancing.program import Choice, choice
from bfcl.stages.balancing.solver import MAX_NODES, Answer, limit_reached, minimise, narrowed
from bfcl.stages.balancing.terms import Entrant, Score, Terms, breaches, score

MAX_ENTRANTS: Final = 120_000
"""Rows one selection is made from at most."""

FINEST_UNIT: Final = 10_000
"""Greatest common denominator of shares that become coefficients of the program, whose exactness they wear on."""

HEAVIEST: Final = 1 << 22
"""Greatest cost of a column where several costs are minimised at once, whose exactness it wears on."""

FEW_NODES: Final = 1_000
"""Branch-and-bound nodes after which costs are minimised one by one after all."""

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
    asked = _Asked(entrants, terms, choice(entrants, terms))
    if not _hold_least(asked, "overflow"):
        return None
    return _earliest(asked, _at_once(asked) or _one_by_one(asked))


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


def _hold_least(asked: _Asked, name: str) -> bool:
    """Bring the cost of that name to its least and hold it there. False where there is no selection at all."""
    program, cost = asked.choice.program, asked.choice.costs[name]
    found = minimise(program, cost.columns)
    if found is None:
        return False
    number = getattr(_measured(asked, found), name)
    least = cost.steps(number)
    if not found.proves(least):
        bound = cost.base + cost.step * found.bound
        raise limit_reached(f"{name} {number} is the least found, {bound} the least possible")
    program.row(cost.columns, upper=least)
    return True


class _Best(NamedTuple):
    """A selection of least costs, which the program has been made to hold."""

    score: Score
    selected: tuple[int, ...]
    columns: Mapping[int, int]
    """See `_row_columns`."""


def _at_once(asked: _Asked) -> _Best | None:
    """All costs after overflow brought to their least by one program; None where that is, or may be, too much for it.

    Each is weighed by more than all later ones together can differ by, so what is least in all is least in each.
    """
    entrants, terms, made = asked
    positions = terms.size * (len(entrants) - terms.size) + 1
    rows = terms.size + 1 if made.intent_excess.columns else 1
    weights = Score(overflow=0, deviation=positions * rows, intent_excess=positions, positions=1)
    heaviest = max(_weighed(made, weights).values(), default=0)
    if not 0 < heaviest <= HEAVIEST:
        return None
    try:
        return _least(asked, _row_columns(made), weights, FEW_NODES)
    except StageError:
        # What one program cannot prove, one for each cost still may.
        return None


def _one_by_one(asked: _Asked) -> _Best:
    """Deviation, excess of intents and sum of positions brought to their least, each by a program of its own."""
    made = asked.choice
    for name in ("deviation", "intent_excess"):
        if made.costs[name].columns:
            _hold_least(asked, name)
    return _least(asked, _row_columns(made), Score(0, 0, 0, 1), MAX_NODES)


def _weighed(made: Choice, weights: Score) -> dict[int, int]:
    """Column to cost, of all costs but positions that have a weight, which is that of a step."""
    by_name = weights._asdict()
    return {
        column: by_name[name] * amount
        for name, cost in made.costs.items()
        if by_name[name]
        for column, amount in cost.columns.items()
    }


def _least(asked: _Asked, columns: Mapping[int, int], weights: Score, nodes: int) -> _Best:
    """The weighed costs brought to their least, each held there. The sum of positions has the weight 1."""
    made, program = asked.choice, asked.choice.program
    positions = {column: position for position, column in columns.items()}
    cost = {**positions, **_weighed(made, weights)}
    found = minimise(program, cost, nodes)
    if found is None:
        raise limit_reached("the solver finds no selection where it found one before")
    best = _measured(asked, found)
    held = {name: each for name, each in made.costs.items() if each.columns and getattr(weights, name)}
    steps = {name: each.steps(getattr(best, name)) for name, each in held.items()}
    least = best.positions + sum(getattr(weights, name) * number for name, number in steps.items())
    bound, ranges = narrowed(program, cost, least)
    if bound != least and not found.proves(least):
        raise limit_reached(f"sum of positions {best.positions} is the least found, {found.bound} the least possible")
    for name, each in held.items():
        program.row(each.columns, upper=steps[name])
    program.row(positions, upper=best.positions)
    for column, (lower, upper) in enumerate(ranges):
        program.lower[column], program.upper[column] = lower, upper
    return _Best(best, made.selected(found.values), columns)


def _earliest(asked: _Asked, best: _Best) -> Selection:
    """Of the selections that cost as little as the best one, the one that comes first."""
    made = asked.choice
    _hold_prefixes(made, best.columns)
    _hold_agreed(asked, best.columns, best.score, frozenset(best.selected))
    _settle_ties(asked, best.columns, best.score)
    return Selection(made.selected(made.program.lower), best.score)


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
