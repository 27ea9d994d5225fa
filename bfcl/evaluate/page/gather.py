"""What do finished directories hold for the page? All of it is made again of their records, so that it holds."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bfcl.digest import Digest
from bfcl.errors import EvalError
from bfcl.evaluate.after.failures import Episode, Failure, Message, failure_of
from bfcl.evaluate.after.finished import Finished, open_finished
from bfcl.evaluate.after.paired import Played
from bfcl.evaluate.after.rebuild import Rebuilt, rebuild
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.artifacts.names import REPORT
from bfcl.evaluate.artifacts.reading import unusable
from bfcl.evaluate.artifacts.result import CandidateResult
from bfcl.evaluate.page.data import Entrant, Evaluation, PageData
from bfcl.evaluate.page.usage import usage_of
from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.score.breakdowns import kinds_of
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.score.result_rows import result_row
from bfcl.evaluate.settings.hashes import REPEATING
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.modelio.candidate_cache import CandidateCache


def gather(directories: Sequence[Path], whereabouts: Whereabouts | None = None) -> PageData:
    """Read finished evaluations, one at least. No code of a pack is imported, nobody is asked.

    Raises: EvalError as `open_finished` and `rebuild`, and `eval_artifact_invalid` where the records give other results
    than the report tells.
    """
    names = _names(directories)
    return PageData(
        evaluations=tuple(
            _evaluation(directory, name, whereabouts) for directory, name in zip(directories, names, strict=True)
        )
    )


def _names(directories: Sequence[Path]) -> list[str]:
    """Each directory's own name; its whole path where another has the same."""
    own = [directory.resolve().name for directory in directories]
    counts = Counter(own)
    return [str(directory) if counts[name] > 1 else name for directory, name in zip(directories, own, strict=True)]


class _Reading:
    """Sees every episode of one evaluation while it is made again, and keeps what the page needs of it."""

    def __init__(self, settings: EvalSettings) -> None:
        self.scoring = settings.scoring
        self.repeats = settings.schema_version == REPEATING
        self._trials = settings.repeats.trials
        self._failed: dict[tuple[str, str], _Seen] = {}
        """Of the first trial, by alias and task id."""
        self.passed: dict[str, tuple[str, str]] = {}
        """By task id: whose final state passes, and that state."""
        self._scores: dict[tuple[str, str], dict[int, TaskScore]] = {}
        """By alias and task id, of every trial, where there are several."""

    def see(self, script: Script, evidence: EpisodeEvidence) -> None:
        alias, task_id = evidence.candidate_alias, script.task_id
        score = score_episode(script, evidence, self.scoring)
        if self.repeats:
            # A trial that was driven once more has the number that lies `trials` further on, and comes later.
            self._scores.setdefault((alias, task_id), {})[evidence.trial % self._trials] = score
        if evidence.trial:
            return
        if not score.task_success:
            self._failed[alias, task_id] = _Seen(script, evidence, score)
        elif evidence.final_state is not None:
            self.passed.setdefault(task_id, (alias, evidence.final_state))

    def failed(self, alias: str, task_ids: Iterable[str]) -> list[_Seen]:
        """In the order of the ids."""
        return [self._failed[alias, task_id] for task_id in task_ids if (alias, task_id) in self._failed]

    def played(self, alias: str, scores: Iterable[TaskScore]) -> dict[str, Played]:
        """Of the tasks of the first trial's scores. Without repeats a task that the run stopped has failed."""
        if not self.repeats:
            return {score.task_id: Played(successes=int(score.task_success), trials=1) for score in scores}
        told = {}
        for score in scores:
            trials = self._scores[alias, score.task_id].values()
            counted = [trial.task_success for trial in trials if not trial.non_candidate_stop]
            if counted:
                told[score.task_id] = Played(successes=sum(counted), trials=len(counted))
        return told


class _Seen(NamedTuple):
    script: Script
    evidence: EpisodeEvidence
    score: TaskScore


def _evaluation(directory: Path, name: str, whereabouts: Whereabouts | None) -> Evaluation:
    finished = open_finished(directory)
    reading = _Reading(recorded_settings(directory, whereabouts))
    rebuilt = rebuild(directory, whereabouts, seen=reading.see)
    _check(finished, rebuilt)
    return Evaluation(
        name=name,
        finished=finished,
        kinds={task_id: kinds_of(row) for task_id, row in rebuilt.result.rows.items()},
        entrants=tuple(_entrant(finished, one, reading, rebuilt.calls) for one in rebuilt.result.candidates),
    )


def _check(finished: Finished, rebuilt: Rebuilt) -> None:
    """Raises: EvalError `eval_artifact_invalid` where the records give other aggregates."""
    told = {one.alias: one.aggregate_hash for one in finished.candidates}
    made = {one.candidate.alias: one.aggregate.aggregate_hash for one in rebuilt.result.candidates}
    if told != made:
        differing = ", ".join(
            sorted(alias for alias in told.keys() | made.keys() if told.get(alias) != made.get(alias))
        )
        message = f"tells other results of {differing} than the records give; `bfcl eval-verify` says where they part"
        raise EvalError(unusable(finished.directory / REPORT, message))


def _entrant(finished: Finished, one: CandidateResult, reading: _Reading, calls: CandidateCache) -> Entrant:
    alias = one.candidate.alias
    rows = tuple(result_row(score, one.candidate.canonical_id) for score in one.scores)
    return Entrant(
        measured=dataclasses.replace(finished.measured(alias), results=rows),
        scores=one.scores,
        played=reading.played(alias, one.scores),
        repeated=one.repeated,
        failures=_failures(reading.failed(alias, [score.task_id for score in one.scores]), reading, calls),
        usage=usage_of(exchange.outcome for exchange in calls.exchanges() if exchange.request.candidate_alias == alias),
    )


def _failures(failed: Sequence[_Seen], reading: _Reading, calls: CandidateCache) -> Iterator[Failure]:
    """One at a time: what was sent is read from the record when it is asked for."""

    def sent(request_hash: Digest) -> Sequence[Message] | None:
        return _sent(request_hash, calls)

    for script, evidence, score in failed:
        episode = Episode(script=script, evidence=evidence, score=score, prompt_of=sent)
        failure = failure_of(episode, reading.scoring, passed=reading.passed.get(script.task_id))
        if failure is not None:
            yield failure


def _sent(request_hash: Digest, calls: CandidateCache) -> Sequence[Message] | None:
    """The messages of a request, as they are on record."""
    exchange = calls.exchange(request_hash)
    messages = None if exchange is None else exchange.request.body.get("messages")
    return [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list | tuple) else None
