"""How does a choice of rows read as an integer program? Rule: generation.md §3.8.8.

Rows that agree in everything the terms look at form a class. To the terms only the number taken of a class matters;
which ones, only to the sum of positions, where the earliest are best. So a class is one integral column, its count, and
a selection is the earliest rows of each class.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import TypeVar

from bfcl.records.ids import TaskId
from bfcl.stages.balancing.candidate import Candidate
from bfcl.stages.balancing.dimensions import DIMENSIONS, GROUPS
from bfcl.stages.balancing.solver import Program
from bfcl.stages.balancing.terms import Entrant, Terms, tool_call_gaps


@dataclass(slots=True, kw_only=True)
class Cost:
    """One number of a score as a cost: `base + step x sum of amount x column`."""

    columns: dict[int, int] = field(default_factory=dict)
    base: int = 0
    step: int = 1

    def steps(self, number: int) -> int:
        """What the columns sum to where the score has this number. Raises ValueError for one between two steps."""
        steps, rest = divmod(number - self.base, self.step)
        if rest:
            raise ValueError(f"{number} is not {self.base} and steps of {self.step}")
        return steps

    def coarsen(self) -> None:
        """Make the step as great as it can be: the greater, the sooner the solver sees that nothing is between."""
        divisor = gcd(*self.columns.values()) or 1
        self.columns = {column: amount // divisor for column, amount in self.columns.items()}
        self.step *= divisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A program, what its columns stand for, and the three costs that come before positions."""

    program: Program
    classes: tuple[tuple[int, ...], ...]
    """Positions of each class, ascending. The count of class i is column i."""
    representatives: Mapping[int, int]
    """Class of duplicates to the class of their representative, for classes of duplicates."""
    overflow: Cost = field(default_factory=Cost)
    deviation: Cost = field(default_factory=Cost)
    intent_excess: Cost = field(default_factory=Cost)

    @property
    def costs(self) -> dict[str, Cost]:
        """Field of `Score` to its cost, in the order they are minimised."""
        return {"overflow": self.overflow, "deviation": self.deviation, "intent_excess": self.intent_excess}

    def selected(self, values: Sequence[int]) -> tuple[int, ...]:
        """Positions, ascending, of the earliest rows of each class."""
        return tuple(sorted(row for rows, count in zip(self.classes, values, strict=False) for row in rows[:count]))


def choice(entrants: Sequence[Entrant], terms: Terms) -> Choice:
    """The program of selecting from entrants in stable order under terms."""
    grouped: dict[Hashable, list[int]] = defaultdict(list)
    looks = _looks(entrants, terms)
    for position, entrant in enumerate(entrants):
        grouped[tuple(look(entrant) for look in looks)].append(position)
    classes = tuple(tuple(rows) for rows in grouped.values())
    program = Program()
    for rows in classes:
        program.column(0, len(rows))
    made = Choice(program=program, classes=classes, representatives=_representatives(entrants, classes))
    firsts = [entrants[rows[0]].candidate for rows in classes]
    _add_constraints(made, firsts, entrants, terms)
    _add_overflow(made, firsts, terms)
    _add_fixed_mixes(made, firsts, terms)
    _add_tool_calls(made, firsts, terms)
    made.deviation.coarsen()
    if terms.intent_share is not None:
        _add_intent_share(made, firsts, terms.intent_share)
    return made


def _looks(entrants: Sequence[Entrant], terms: Terms) -> list[Callable[[Entrant], Hashable]]:
    """What the terms look at, as functions of an entrant. Groups no cap can bind are not looked at."""
    looks: list[Callable[[Entrant], Hashable]] = [
        lambda entrant: entrant.candidate.coverage_bucket,
        lambda entrant: entrant.candidate.category,
    ]
    readings = [DIMENSIONS[dimension] for dimension in terms.quotas]
    if terms.tool_calls:
        readings.append(DIMENSIONS["tool_call_count"])
    if terms.intent_share is not None:
        readings.append(DIMENSIONS["intent"])
    if terms.surfaces:
        readings.append(GROUPS["exact_surface"])
    looks += [lambda entrant, reading=reading: reading(entrant.candidate) for reading in readings]  # type: ignore[misc]
    for name, cap in terms.caps.items():
        reading = GROUPS[name]
        sizes = Counter(reading(entrant.candidate) for entrant in entrants)
        bound = {group for group, number in sizes.items() if number > cap}
        looks.append(
            lambda entrant, reading=reading, bound=bound: (  # type: ignore[misc]
                group if (group := reading(entrant.candidate)) in bound else None
            )
        )
    led = {entrant.standing.representative_task_id for entrant in entrants if entrant.standing.is_duplicate}
    looks.append(
        lambda entrant: (
            (entrant.standing.representative_task_id, entrant.standing.is_duplicate)
            if entrant.standing.representative_task_id in led
            else None
        )
    )
    return looks


def _representatives(entrants: Sequence[Entrant], classes: Sequence[tuple[int, ...]]) -> dict[int, int]:
    leaders: dict[TaskId, int] = {}
    for number, rows in enumerate(classes):
        leaders.setdefault(entrants[rows[0]].candidate.task_id, number)
    return {
        number: leaders[standing.representative_task_id]
        for number, rows in enumerate(classes)
        if (standing := entrants[rows[0]].standing).is_duplicate
    }


Key = TypeVar("Key", bound=Hashable)


def _columns(keys: Iterable[Key]) -> dict[Key, list[int]]:
    """Key to the classes that have it, in order of first appearance."""
    found: dict[Key, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        found[key].append(number)
    return found


def _ones(columns: Iterable[int], amount: int = 1) -> dict[int, int]:
    return dict.fromkeys(columns, amount)


def _add_constraints(made: Choice, firsts: Sequence[Candidate], entrants: Sequence[Entrant], terms: Terms) -> None:
    """Size, coverage, group caps, distinct surfaces, members only with their representative."""
    program = made.program
    sizes = [len(rows) for rows in made.classes]
    program.row(_ones(range(len(sizes))), lower=terms.size, upper=terms.size)
    for columns in _columns(first.coverage_bucket for first in firsts).values():
        program.row(_ones(columns), lower=1)
    for name, cap in terms.caps.items():
        reading = GROUPS[name]
        numbers = Counter(reading(entrant.candidate) for entrant in entrants)
        by_group = _columns(map(reading, firsts))
        for group, number in numbers.items():
            if number > cap:
                program.row(_ones(by_group[group]), upper=cap)
    if terms.surfaces:
        shown = []
        for columns in _columns(first.text_hash for first in firsts).values():
            present = program.column(0, 1)
            program.row({**_ones(columns), present: -1}, lower=0)
            shown.append(present)
        program.row(_ones(shown), lower=terms.surfaces)
    for members, leader in made.representatives.items():
        program.row({members: 1, leader: -sizes[members]}, upper=0)


def _add_overflow(made: Choice, firsts: Sequence[Candidate], terms: Terms) -> None:
    for columns in _columns(first.category for first in firsts).values():
        above = sum(len(made.classes[column]) for column in columns) - terms.category_cap
        if above > 0:
            overflow = made.program.column(0, above, integral=False)
            made.program.row({**_ones(columns), overflow: -1}, upper=terms.category_cap)
            made.overflow.columns[overflow] = 1


def _add_fixed_mixes(made: Choice, firsts: Sequence[Candidate], terms: Terms) -> None:
    """Count - over + under = quota, for every bucket that is named or can be met.

    Those are all buckets, so all of over less all of under is the size less all quotas: over alone says the deviation.
    """
    for dimension, quotas in terms.quotas.items():
        by_bucket = _columns(map(DIMENSIONS[dimension], firsts))
        for bucket in {**quotas, **by_bucket}:
            columns, quota = by_bucket.get(bucket, []), quotas.get(bucket, 0)
            over = made.program.column(0, terms.size)
            under = made.program.column(0, terms.size)
            made.program.row({**_ones(columns), over: -1, under: 1}, lower=quota, upper=quota)
            made.deviation.columns[over] = 2 * terms.unit
        made.deviation.base -= terms.unit * (terms.size - sum(quotas.values()))


def _add_tool_calls(made: Choice, firsts: Sequence[Candidate], terms: Terms) -> None:
    """Count - share x rows of all named buckets - over + under = 0, all times the unit; and see `_add_no_calls`.

    Counts are columns of their own: once the solver has settled these few, the deviation has nothing left to be split.
    """
    by_bucket = _columns(map(DIMENSIONS["tool_call_count"], firsts))
    numbers = {}
    for bucket in terms.tool_calls:
        numbers[bucket] = made.program.column(0, terms.size)
        made.program.row({**_ones(by_bucket.get(bucket, [])), numbers[bucket]: -1}, lower=0, upper=0)
    is_whole = sum(terms.tool_calls.values()) == 1
    for bucket, share in terms.tool_calls.items():
        balance = _ones(numbers.values(), -int(share * terms.unit))
        balance[numbers[bucket]] += terms.unit
        over = made.program.column(0, terms.unit * terms.size, integral=False)
        under = made.program.column(0, terms.unit * terms.size, integral=False)
        made.program.row({**balance, over: -1, under: 1}, lower=0, upper=0)
        # Where shares sum to 1, there is as much of over as of under.
        made.deviation.columns.update({over: 2} if is_whole else {over: 1, under: 1})
    unnamed = sum(
        len(made.classes[column])
        for bucket, columns in by_bucket.items()
        if bucket not in terms.tool_calls
        for column in columns
    )
    if numbers and unnamed >= terms.size:
        _add_no_calls(made, numbers.values(), terms)


def _add_no_calls(made: Choice, numbers: Iterable[int], terms: Terms) -> None:
    """Where no row of a named bucket is taken, `none` is 1 and costs what `terms.tool_call_gaps` says of that."""
    none = made.program.column(0, 1)
    made.program.row({**_ones(numbers), none: 1}, lower=1)
    made.deviation.columns[none] = sum(map(abs, tool_call_gaps({"": terms.size}, terms).values()))


def _add_intent_share(made: Choice, firsts: Sequence[Candidate], share: Fraction) -> None:
    """Count - excess <= allowance, for every intent of a category.

    The allowance is the greater of the share and one row. `single` says which bound a category goes by, and since only
    the more generous one keeps the excess least, nothing else has to tie it to the category's size.
    """
    program = made.program
    sizes, single = {}, {}
    for category, columns in _columns(first.category for first in firsts).items():
        # A column of its own keeps the rows below short: there is one for every intent of the category.
        sizes[category] = program.column(0, sum(len(made.classes[column]) for column in columns))
        program.row({**_ones(columns), sizes[category]: -1}, lower=0, upper=0)
        single[category] = program.column(0, 1)
    for (category, _), columns in _columns((first.category, first.intent) for first in firsts).items():
        most = sum(len(made.classes[column]) for column in columns)
        if most == 1:
            continue
        excess = program.column(0, most)
        slack = share.denominator * most
        balance = {**_ones(columns, share.denominator), sizes[category]: -share.numerator}
        program.row({**balance, excess: -share.denominator, single[category]: -slack}, upper=0)
        program.row({**_ones(columns), excess: -1, single[category]: most - 1}, upper=most)
        made.intent_excess.columns[excess] = 1
