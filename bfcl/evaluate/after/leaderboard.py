"""Who does best on one benchmark, as far as that can be told? Rule: evaluation.md §12."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.after.compare import SIGNIFICANT
from bfcl.evaluate.after.finished import Finished, open_finished
from bfcl.evaluate.after.paired import Tries, tally
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.sides import (
    Side,
    incomparable,
    kinds_by_task,
    pairs_of,
    require_tables,
    tries_by_task,
)
from bfcl.evaluate.after.upheld import require_upheld
from bfcl.evaluate.score.breakdowns import Kinds
from bfcl.evaluate.score.intervals import Interval, cluster_bootstrap, holm, wilson

INELIGIBLE: Final = "leaderboard_ineligible"
SCHEMA_VERSION: Final = "1.0"

_RULE: Final = (
    "a candidate shares the rank of the first one ahead that it cannot be told from: exact McNemar, Holm over all pairs"
)

_STOPS: Final = (
    "stopped: tasks that ended for reasons that are not the candidate's; they count as failed, and the rate says less "
    "of the candidate the more there are"
)

_IDENTITY: Final = re.compile(r"candidates\[(.+)\]\.model_identity")

Places = tuple[int, int]
"""Two candidates by their places in the order of success, the better one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One candidate's line."""

    rank: int
    side: Side
    interval: Interval | None
    """Wilson's, over tasks."""
    clustered: Interval | None
    """Bootstrap over templates."""

    @property
    def rate(self) -> float:
        return _rate(self.side)

    def to_json(self) -> dict[str, Json]:
        measured = self.side.measured
        return {
            "rank": self.rank,
            **self.side.to_json(),
            "task_success_rate": self.rate,
            "successful_tasks": measured.successful_tasks,
            "task_count": measured.task_count,
            "non_candidate_stops": measured.non_candidate_stops,
            "interval": None if self.interval is None else self.interval.to_json(),
            "interval_clustered_by_template_id": None if self.clustered is None else self.clustered.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Candidates by success, those in one rank that cannot be told from its first."""

    standings: tuple[Standing, ...]
    shared: Mapping[str, Json]

    @property
    def notes(self) -> tuple[str, ...]:
        """What people have to know to read the table: how ranks are shared, and where a rate is not all its own."""
        stopped = any(one.side.measured.non_candidate_stops for one in self.standings)
        return (f"ranks: {_RULE}", *((_STOPS,) if stopped else ()))

    def to_json(self) -> dict[str, Json]:
        return {
            "schema_version": SCHEMA_VERSION,
            "shared": self.shared,
            "significance": SIGNIFICANT,
            "ranks": _RULE,
            "standings": [one.to_json() for one in self.standings],
        }


def leaderboard(directories: Sequence[Path], whereabouts: Whereabouts | None = None) -> Leaderboard:
    """Rank every candidate of every directory.

    Raises: EvalError `eval_artifact_invalid` for directories that are no finished evaluation, `leaderboard_ineligible`
    with everything that keeps one of them out, by its name; as `verify_evaluation` where results do not follow from
    their records.
    """
    finished = list(_opened(directories))
    raise_all(EvalError, list(_unpublishable(finished)))
    sides = [Side(finished=each, measured=one) for each in finished for one in each.candidates]
    require_tables(sides, INELIGIBLE)
    problems = [*_repeated(sides)]
    for other in sides[1:]:
        problems += incomparable(sides[0], other, INELIGIBLE)
    raise_all(EvalError, problems)
    require_upheld([each.directory for each in finished], whereabouts)
    sides.sort(key=lambda side: (-_rate(side), side.measured.canonical_id))
    kinds = kinds_by_task(sides[0], whereabouts)
    tries = [tries_by_task(side, whereabouts) for side in sides]
    ranks = _ranks(_p_values(tries, kinds), len(sides))
    manifest = sides[0].finished.manifest
    return Leaderboard(
        standings=tuple(
            Standing(
                rank=rank,
                side=side,
                interval=wilson(side.measured.successful_tasks, side.measured.task_count),
                clustered=_clustered(side, kinds),
            )
            for rank, side in zip(ranks, sides, strict=True)
        ),
        shared={
            "source_identity": manifest["source_identity"],
            "scoring_policy_hash": manifest["scoring_policy_hash"],
            "eval_scope": manifest["eval_scope"],
            "limits": manifest["limits"],
            "task_count": sides[0].measured.task_count,
        },
    )


def _opened(directories: Sequence[Path]) -> Iterator[Finished]:
    """Raises: EvalError with the problems of every directory."""
    problems: list[Problem] = []
    for directory in directories:
        try:
            yield open_finished(directory)
        except EvalError as error:
            problems += error.problems
    raise_all(EvalError, problems)


def _unpublishable(finished: Sequence[Finished]) -> Iterator[Problem]:
    for each in finished:
        if each.manifest["publication_allowed"] is not True:
            told = each.manifest["non_publication_reasons"]
            reasons = [str(one) for one in told] if isinstance(told, list | tuple) else []
            yield Problem(
                code=INELIGIBLE,
                subject=str(each.directory),
                field="publication_allowed",
                message=f"may not be published: {', '.join(reasons)}; expected results that may",
                fix=_publishable(reasons),
            )


def _publishable(reasons: Sequence[str]) -> str:
    """Everything that publishing takes, at once: one request for it alone is refused for the rest."""
    parts = ["`publication.requested: true`"]
    pinned = [found[1] for found in map(_IDENTITY.fullmatch, reasons) if found is not None]
    if pinned:
        parts.append(f"`revision` or `weights_digest` in `model_identity` of {', '.join(pinned)}")
    others = [one for one in reasons if one != "publication.requested" and _IDENTITY.fullmatch(one) is None]
    if others:
        parts.append(f"without what else bars it ({', '.join(others)})")
    return f"evaluate again with {', '.join(parts)}; or leave the directory out"


def _repeated(sides: Sequence[Side]) -> Iterator[Problem]:
    """One model has one line."""
    seen: dict[str, Side] = {}
    for side in sides:
        first = seen.setdefault(side.measured.canonical_id, side)
        if first is not side:
            yield Problem(
                code=INELIGIBLE,
                subject=side.name,
                field="canonical_id",
                message=f"is the model of {first.name}, {side.measured.canonical_id}; expected each model once",
                fix="leave one of the two directories out",
            )


def _rate(side: Side) -> float:
    return side.measured.successful_tasks / side.measured.task_count


def _p_values(tries: Sequence[Mapping[str, Tries]], kinds: Mapping[str, Kinds]) -> dict[Places, float]:
    """Of every pair, adjusted over all of them."""
    return holm(
        {
            (one, other): tally(pairs_of(tries[one], tries[other], kinds)).p_value
            for one, other in itertools.combinations(range(len(tries)), 2)
        }
    )


def _ranks(p_values: Mapping[Places, float], count: int) -> list[int]:
    """The rank of each place: that of the best one before it that it is not significantly behind, else a new one."""
    ranks: list[int] = []
    head = 0
    for place in range(count):
        if place and p_values[head, place] < SIGNIFICANT:
            head = place
        ranks.append(head + 1)
    return ranks


def _clustered(side: Side, kinds: Mapping[str, Kinds]) -> Interval | None:
    clusters: dict[str, tuple[int, int]] = {}
    for row in side.measured.results or ():
        template = kinds[row["task_id"]].template_id
        above, below = clusters.get(template, (0, 0))
        clusters[template] = (above + row["task_success"], below + 1)
    return cluster_bootstrap([clusters[name] for name in sorted(clusters)]).interval
