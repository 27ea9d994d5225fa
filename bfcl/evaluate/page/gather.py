"""What do finished directories hold for the page? All of it is made again of their records, so that it holds."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bfcl.digest import Digest
from bfcl.errors import EvalError
from bfcl.evaluate.after.finished import Finished, open_finished
from bfcl.evaluate.after.last_attempts import with_last_attempts
from bfcl.evaluate.after.paired import Tries
from bfcl.evaluate.after.rebuild import Rebuilt, rebuild
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.after.seen import EveryTrial, FirstTrial, SeenEpisode, failed_by_some, failures_of
from bfcl.evaluate.artifacts.names import REPORT
from bfcl.evaluate.artifacts.reading import unusable
from bfcl.evaluate.artifacts.result import CandidateResult
from bfcl.evaluate.page.data import Entrant, Evaluation, PageData
from bfcl.evaluate.page.usage import usage_of
from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.run.unanswered import Cause, stop_cause
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

    def __init__(self, settings: EvalSettings, finished: Finished) -> None:
        self.scoring = settings.scoring
        self.first = FirstTrial(failed_by_some(finished))
        self._every = EveryTrial(settings.repeats.trials) if settings.schema_version == REPEATING else None
        """None where there is one trial only."""
        self._stopped: dict[str, list[tuple[TaskScore, Digest | None]]] = {}
        """By alias, tasks of the first trial that the run stopped, and the digest of the last request of each."""

    def see(self, script: Script, evidence: EpisodeEvidence) -> None:
        score = score_episode(script, evidence, self.scoring)
        self.first.see(SeenEpisode(script, evidence, score))
        if evidence.trial == 0 and score.non_candidate_stop:
            last = evidence.turns[-1].request_hash if evidence.turns else None
            self._stopped.setdefault(evidence.candidate_alias, []).append((score, last))
        if self._every is not None:
            self._every.see(score)

    def stop_causes(self, alias: str, calls: CandidateCache) -> Iterator[Cause]:
        """One of each task that the run stopped."""
        for score, request_hash in self._stopped.get(alias, ()):
            found = None if request_hash is None else calls.exchange(request_hash)
            yield stop_cause(score, None if found is None else found.outcome)

    def tries(self, alias: str, scores: Iterable[TaskScore]) -> dict[str, Tries]:
        """Of the tasks of the first trial's scores. Without repeats a task that the run stopped has failed."""
        if self._every is None:
            return {score.task_id: Tries(successes=int(score.task_success), trials=1) for score in scores}
        return self._every.tries(alias, (score.task_id for score in scores))


def _evaluation(directory: Path, name: str, whereabouts: Whereabouts | None) -> Evaluation:
    finished = open_finished(directory)
    reading = _Reading(recorded_settings(directory, whereabouts), finished)
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
    failed = reading.first.failed(alias, (score.task_id for score in one.scores))
    return Entrant(
        measured=dataclasses.replace(finished.measured(alias), results=rows),
        scores=one.scores,
        tries=reading.tries(alias, one.scores),
        repeated=one.repeated,
        failures=with_last_attempts(failures_of(failed, reading.scoring, reading.first.passed, calls), calls),
        usage=usage_of(exchange.outcome for exchange in calls.exchanges() if exchange.request.candidate_alias == alias),
        stops=Counter(reading.stop_causes(alias, calls)),
    )
