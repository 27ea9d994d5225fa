"""On which kinds of task does a candidate do well, and how sure is that? Rule: evaluation.md §10."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.score.intervals import CONFIDENCE, RESAMPLES, SEED, cluster_bootstrap, wilson
from bfcl.exports.row import ExportRow

SCHEMA_VERSION: Final = "1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """By what a task can be grouped. A row may leave its difficulty or language open."""

    category: str
    difficulty: str | None
    turn_policy: str
    language: str | None
    call_order: str
    template_id: str


DIMENSIONS: Final = ("category", "difficulty", "turn_policy", "language", "call_order", "template_id")
"""In report order."""


def kinds_of(row: ExportRow) -> Kinds:
    """What a published row says of itself; the language is that of its metadata."""
    published, language = row.published, row.metadata.get("language")
    return Kinds(
        category=published["category"],
        difficulty=published["difficulty"],
        turn_policy=published["turn_policy"],
        language=language if isinstance(language, str) else None,
        call_order=published["call_order"],
        template_id=published["template_id"],
    )


def breakdowns(
    candidates: Mapping[str, Sequence[TaskScore]],
    kinds: Mapping[str, Kinds],
    *,
    resamples: int = RESAMPLES,
) -> dict[str, Json]:
    """The content of `eval_breakdowns.json`: by alias the whole, then every value of every dimension, values sorted.

    `candidates` has the scores of one trial by alias, `kinds` those of every scored task by its id. Raises: KeyError
    for a task without kinds.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "confidence": CONFIDENCE,
        "interval": "wilson",
        "candidates": [
            {
                "alias": alias,
                "overall": {**_group(scores), "clustered_by_template_id": _clustered(scores, kinds, resamples)},
                "by": {dimension: _by(scores, kinds, dimension) for dimension in DIMENSIONS},
            }
            for alias, scores in sorted(candidates.items())
        ],
    }


def grouped(
    scores: Iterable[TaskScore], kinds: Mapping[str, Kinds], dimension: str
) -> list[tuple[str | None, list[TaskScore]]]:
    """Scores by their value of a dimension, values sorted and none first, scores in their order."""
    groups: dict[str | None, list[TaskScore]] = {}
    for score in scores:
        value: str | None = getattr(kinds[score.task_id], dimension)
        groups.setdefault(value, []).append(score)
    return sorted(groups.items(), key=lambda group: (group[0] is not None, group[0] or ""))


def clusters(scores: Iterable[TaskScore], kinds: Mapping[str, Kinds]) -> list[tuple[int, int]]:
    """Successes and tasks of every template, by template."""
    return [(_successes(group), len(group)) for _, group in grouped(scores, kinds, "template_id")]


def _clustered(scores: Sequence[TaskScore], kinds: Mapping[str, Kinds], resamples: int) -> Json:
    return cluster_bootstrap(clusters(scores, kinds), seed=SEED, resamples=resamples).to_json()


def _by(scores: Sequence[TaskScore], kinds: Mapping[str, Kinds], dimension: str) -> list[dict[str, Json]]:
    return [{"value": value, **_group(group)} for value, group in grouped(scores, kinds, dimension)]


def _successes(scores: Iterable[TaskScore]) -> int:
    return sum(score.task_success for score in scores)


def _group(scores: Sequence[TaskScore]) -> dict[str, Json]:
    """Counts and rates of a group. The rate that leaves the run's stops out says so, and never stands for the other."""
    own = [score for score in scores if not score.non_candidate_stop]
    return {
        "tasks": len(scores),
        "successes": _successes(scores),
        "non_candidate_stops": len(scores) - len(own),
        **_rate(_successes(scores), len(scores)),
        "excluding_non_candidate_stops": {
            "tasks": len(own),
            "successes": _successes(own),
            **_rate(_successes(own), len(own)),
        },
    }


def _rate(successes: int, tasks: int) -> dict[str, Json]:
    interval = wilson(successes, tasks)
    return {
        "success_rate": successes / tasks if tasks else None,
        "interval": None if interval is None else interval.to_json(),
    }
