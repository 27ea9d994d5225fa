"""What does the page show? Finished evaluations as values: no file is read from here on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bfcl.evaluate.after.failures import Failure
from bfcl.evaluate.after.finished import Finished, Measured
from bfcl.evaluate.after.paired import Tries
from bfcl.evaluate.after.sides import Side
from bfcl.evaluate.page.usage import Usage
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.run.unanswered import Cause
from bfcl.evaluate.score.breakdowns import Kinds
from bfcl.evaluate.score.repeats import Repeated


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One candidate of one evaluation."""

    measured: Measured
    """With its task results, whether or not the evaluation kept a table of them."""
    scores: tuple[TaskScore, ...]
    """Of the first trial, in plan order."""
    tries: Mapping[str, Tries]
    """By task id in plan order, over all trials that count; a task without any is absent."""
    repeated: Repeated | None
    failures: Iterable[Failure]
    """Of the first trial, each failed task once, in plan order. Read once."""
    usage: Usage
    stops: Mapping[Cause, int]
    """What stopped tasks of the first trial that the candidate did not stop, as recorded, and how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One evaluation. `name` is how people tell it from others on the page."""

    name: str
    finished: Finished
    kinds: Mapping[str, Kinds]
    """Of every scored task, by its id."""
    entrants: tuple[Entrant, ...]
    """By alias, one at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageData:
    """All that one page is made of."""

    evaluations: tuple[Evaluation, ...]
    """In the order asked for, one at least."""

    def labelled(self) -> list[Labelled]:
        """Every candidate by its name on this page: its alias, after its evaluation's name where there are several."""
        several = len(self.evaluations) > 1
        return [
            Labelled(
                label=f"{evaluation.name}:{entrant.measured.alias}" if several else entrant.measured.alias,
                evaluation=evaluation,
                entrant=entrant,
            )
            for evaluation in self.evaluations
            for entrant in evaluation.entrants
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A candidate by its name on the page."""

    label: str
    evaluation: Evaluation
    entrant: Entrant

    @property
    def side(self) -> Side:
        """The candidate as comparisons take it."""
        return Side(finished=self.evaluation.finished, measured=self.entrant.measured)
