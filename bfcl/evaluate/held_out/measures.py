"""How far apart are two rates, when neither is known for sure? Rule: evaluation.md §2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.score.intervals import Interval
from bfcl.evaluate.score.rates import Rate, rate
from bfcl.exports.row import ExportRow


class Stratum(NamedTuple):
    """What is compared with its like: tasks that call a tool under a turn policy. None stands for no call at all."""

    tool: str | None
    turn_policy: str


def strata_of(row: ExportRow) -> tuple[Stratum, ...]:
    """The strata of a task, by tool: one for each tool that it expects to be called."""
    policy = row.published["turn_policy"]
    tools = sorted({call.function_name for call in row.calls})
    return tuple(Stratum(tool, policy) for tool in tools) or (Stratum(None, policy),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a candidate did on some tasks."""

    whole: Rate
    """Of all; what the run stopped is no success."""
    own: Rate
    """Of those that the run did not stop."""

    def to_json(self) -> dict[str, Json]:
        return {
            **self.whole.to_json(),
            "non_candidate_stops": self.whole.tasks - self.own.tasks,
            "excluding_non_candidate_stops": self.own.to_json(),
        }


def standing(scores: Iterable[TaskScore]) -> Standing:
    """How they came out."""
    every = list(scores)
    return Standing(whole=rate(every), own=rate(score for score in every if not score.non_candidate_stop))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Tasks that everybody may have seen beside tasks that nobody has."""

    seen: Standing
    held_out: Standing

    def to_json(self) -> dict[str, Json]:
        """Both sides and two gaps, each None where nothing was measured on a side: stops alone make no gap."""
        seen, held_out = self.seen, self.held_out
        measured = seen.own.tasks > 0 and held_out.own.tasks > 0
        return {
            "seen": seen.to_json(),
            "held_out": held_out.to_json(),
            "gap": _gap(seen.whole, held_out.whole) if measured else None,
            "gap_excluding_non_candidate_stops": _gap(seen.own, held_out.own),
        }


def _gap(seen: Rate, held_out: Rate) -> Json:
    """Seen less held out. Its interval is wider than 95 % asks for: it holds wherever both others do."""
    ours, theirs = seen.interval, held_out.interval
    if ours is None or theirs is None:
        return None
    value = seen.successes / seen.tasks - held_out.successes / held_out.tasks
    interval = Interval(low=ours.low - theirs.high, high=ours.high - theirs.low)
    return {"value": value, "interval": interval.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: the scores of one candidate, and the strata of every scored task by its id."""

    scores: Sequence[TaskScore]
    strata: Mapping[str, tuple[Stratum, ...]]

    def by_stratum(self) -> dict[Stratum, Standing]:
        """How each stratum came out. A task that calls several tools counts in the stratum of each."""
        found: dict[Stratum, list[TaskScore]] = {}
        for score in self.scores:
            for stratum in self.strata[score.task_id]:
                found.setdefault(stratum, []).append(score)
        return {stratum: standing(scores) for stratum, scores in found.items()}

    def failures(self) -> dict[str, Json]:
        """Tasks by failure code, codes sorted; a task counts once under each of its codes."""
        codes = Counter(code for score in self.scores for code in {record.code for record in score.failures})
        return dict(sorted(codes.items()))


def compared(seen: Side, held_out: Side) -> dict[Stratum, Comparison]:
    """Every stratum that both sides have tasks of: those without calls first, then by tool and policy."""
    ours, theirs = seen.by_stratum(), held_out.by_stratum()
    shared = sorted(ours.keys() & theirs.keys(), key=lambda one: (one.tool is not None, one.tool or "", one[1]))
    return {one: Comparison(seen=ours[one], held_out=theirs[one]) for one in shared}
