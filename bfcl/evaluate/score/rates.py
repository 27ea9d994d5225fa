"""How often did it go well, and how sure is that? Rule: evaluation.md §2, §10."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bfcl.canonical import Json
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.score.intervals import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Successes among some tasks."""

    successes: int
    tasks: int

    @property
    def share(self) -> float | None:
        """None of no task."""
        return self.successes / self.tasks if self.tasks else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's, None of no task."""
        return wilson(self.successes, self.tasks)

    def to_json(self) -> dict[str, Json]:
        interval = self.interval
        return {
            "successes": self.successes,
            "tasks": self.tasks,
            "success_rate": self.share,
            "interval": None if interval is None else interval.to_json(),
        }


def rate(scores: Iterable[TaskScore]) -> Rate:
    """The rate of scored tasks; one that the run stopped is no success."""
    outcomes = [score.task_success for score in scores]
    return Rate(successes=sum(outcomes), tasks=len(outcomes))
