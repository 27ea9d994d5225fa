"""Which measured candidates are meant, and can they be held against each other? Rule: evaluation.md §12, §16.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.digest import sha256_json
from bfcl.errors import ConfigError, EvalError, Problem, did_you_mean
from bfcl.evaluate.after.finished import Finished, Measured, open_finished
from bfcl.evaluate.after.paired import Pair, Tries
from bfcl.evaluate.after.rebuild import rebuild
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.after.seen import EveryTrial
from bfcl.evaluate.records import EpisodeEvidence, Script
from bfcl.evaluate.score.breakdowns import Kinds, kinds_of
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.source.published import open_source
from bfcl.evaluate.source.tables import read_tables

NOT_NAMED: Final = "candidate_not_named"

_THROUGHPUT: Final = frozenset({"max_parallel_tasks"})
"""Limits that say how fast a run goes and not what it measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One candidate of a finished evaluation."""

    finished: Finished
    measured: Measured

    @property
    def name(self) -> str:
        """As people tell it from others."""
        return f"{self.finished.directory}:{self.measured.alias}"

    def to_json(self) -> dict[str, Json]:
        """Who it is; no path, so that a comparison can be handed on."""
        return {
            "eval_run_id": self.finished.eval_run_id,
            "alias": self.measured.alias,
            "canonical_id": self.measured.canonical_id,
            "eval_config_hash": self.finished.manifest["eval_config_hash"],
            "eval_manifest_hash": self.finished.committed.manifest_hash,
            "aggregate_hash": self.measured.aggregate_hash,
            "publication_allowed": self.finished.manifest["publication_allowed"],
        }


def side_of(given: str) -> Side:
    """The candidate that `DIR` or `DIR:alias` means; the alias may be left out where there is one candidate.

    Raises: EvalError as `open_finished`; ConfigError `candidate_not_named` for an alias that is absent or unknown.
    """
    directory, alias = Path(given), ""
    if not directory.is_dir() and ":" in given:
        place, _, alias = given.rpartition(":")
        directory = Path(place)
    finished = open_finished(directory)
    listed = ", ".join(finished.aliases)
    if not alias and len(finished.candidates) == 1:
        return Side(finished=finished, measured=finished.candidates[0])
    if alias in finished.aliases:
        return Side(finished=finished, measured=finished.measured(alias))
    seen = f"has no candidate `{alias}`" if alias else f"has {len(finished.candidates)} candidates, and none is named"
    fix = (did_you_mean(alias, finished.aliases) if alias else None) or f"write `{directory}:{finished.aliases[0]}`"
    message = f"{seen}; expected one of {listed}"
    raise ConfigError(Problem(code=NOT_NAMED, subject=str(directory), message=message, fix=fix))


def incomparable(first: Side, other: Side, code: str) -> Iterator[Problem]:
    """Every way in which two candidates were not measured alike, by the name of what differs."""
    fix = "evaluate both on the same benchmark under the same policy and limits, then compare those"
    for field, seen, wanted in _differences(first, other):
        message = f"{field} is {seen}; {first.name} has {wanted}"
        yield Problem(code=code, subject=other.name, field=field, message=message, fix=fix)


def _differences(first: Side, other: Side) -> Iterator[tuple[str, str, str]]:
    """(field, of the other, of the first)."""
    one, two = first.finished.manifest, other.finished.manifest
    for field in ("source_identity", "scoring_policy_hash", "eval_scope"):
        if one[field] != two[field]:
            yield field, canonical_text(two[field]), canonical_text(one[field])
    ours, theirs = _ids(first.measured), _ids(other.measured)
    if ours != theirs:
        yield "task_ids_hash", theirs, ours
    limits, others = one["limits"], two["limits"]
    if isinstance(limits, Mapping) and isinstance(others, Mapping):
        for name in sorted((limits.keys() | others.keys()) - _THROUGHPUT):
            if limits.get(name) != others.get(name):
                yield f"limits.{name}", canonical_text(others.get(name)), canonical_text(limits.get(name))


def _ids(measured: Measured) -> str:
    return sha256_json(measured.task_ids)


def require_tables(sides: Sequence[Side], code: str) -> None:
    """Raises: EvalError with every side that has no table of task results."""
    problems = [
        Problem(
            code=code,
            subject=side.name,
            field="outputs.write_task_results",
            message="has no table of task results; expected one row a task to pair",
            fix="evaluate with `outputs.write_task_results: true`",
        )
        for side in sides
        if side.measured.results is None
    ]
    if problems:
        raise EvalError(problems)


def kinds_by_task(side: Side, whereabouts: Whereabouts | None) -> dict[str, Kinds]:
    """What each published row says of itself. Raises: EvalError where the benchmark is not there or another."""
    source = recorded_settings(side.finished.directory, whereabouts).source
    return {row.task_id: kinds_of(row) for row in read_tables(open_source(source).release, source).rows}


def tries_by_task(side: Side, whereabouts: Whereabouts | None) -> dict[str, Tries]:
    """Tasks in publication order with their trials; one that the run stopped in every trial is left out.

    Without repeats that is the table's first trial, in which a task that the run stopped has failed. Where repeats are
    declared, all trials are made again of the records. Raises: EvalError as `rebuild`.
    """
    if "repeats" in side.finished.report:
        return _over_trials(side, whereabouts)
    rows = side.measured.results or ()
    return {row["task_id"]: Tries(successes=int(row["task_success"]), trials=1) for row in rows}


def _over_trials(side: Side, whereabouts: Whereabouts | None) -> dict[str, Tries]:
    directory, alias = side.finished.directory, side.measured.alias
    settings = recorded_settings(directory, whereabouts)
    every = EveryTrial(settings.repeats.trials)

    def seen(script: Script, evidence: EpisodeEvidence) -> None:
        if evidence.candidate_alias == alias:
            every.see(score_episode(script, evidence, settings.scoring))

    rebuild(directory, whereabouts, seen=seen)
    return every.tries(alias, side.measured.task_ids)


def pairs_of(first: Mapping[str, Tries], second: Mapping[str, Tries], kinds: Mapping[str, Kinds]) -> list[Pair]:
    """The tasks that both have, in the first one's order."""
    return [
        Pair(task_id=task_id, kinds=kinds[task_id], first=tries, second=second[task_id])
        for task_id, tries in first.items()
        if task_id in second
    ]
