"""How is one candidate measured, in one trial or several? Rule: evaluation.md §5, §10, §16.1.

What the report tells first is the first trial as it went. Where repeats are declared, a trial that the run stopped is
driven once more, under the number that lies `trials` further on so that nothing recorded answers for it; stopped again,
it stays uncounted.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from bfcl.evaluate.artifacts.result import CandidateResult, scope_of
from bfcl.evaluate.drive.window import in_flight
from bfcl.evaluate.records import TaskScore, attribution
from bfcl.evaluate.run.episodes import Played
from bfcl.evaluate.run.evidence import Used
from bfcl.evaluate.run.how import Headway, Showing
from bfcl.evaluate.run.meter import Meter, tokens_of
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.run.unanswered import Cause, stop_cause
from bfcl.evaluate.score.aggregate import Identities, aggregate
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.score.repeats import Repeated, repeated
from bfcl.evaluate.settings.hashes import REPEATING
from bfcl.evaluate.settings.model import Candidate, EvalSettings
from bfcl.modelio.candidate_cache import IMPORTED


class _Job(NamedTuple):
    trial: int
    task_id: str


class Playing(Protocol):
    """Who plays the tasks of one candidate: for the first time, or again from what is on record."""

    @property
    def prepared(self) -> Prepared:
        """What the run rests on."""
        ...

    @property
    def candidate(self) -> Candidate:
        """Who is measured."""
        ...

    @property
    def meter(self) -> Meter:
        """What is told of stops."""
        ...

    async def play(self, task_id: str, trial: int) -> Played:
        """Bring one task to its evidence. Raises: EvalError where the whole run has to stop."""
        ...


class Watcher(Protocol):
    """Who sees to the source while tasks are played."""

    async def before_task(self) -> None:
        """Raises: EvalError where the source changed."""
        ...


class CandidateRun:
    """Measures one candidate."""

    def __init__(self, player: Playing, watching: Watcher, used: Used, showing: Showing) -> None:
        self._player = player
        self._watching = watching
        self._used = used
        self._showing = showing
        self._settings: EvalSettings = player.prepared.settings
        self._task_ids = player.prepared.plan.task_ids(player.candidate.alias)
        self._scores: dict[_Job, TaskScore] = {}
        self._rejections: Counter[str] = Counter()
        self._exhausted = 0
        self.stop_causes: Counter[Cause] = Counter()
        """What stopped tasks of the first trial that the candidate did not stop, and how many."""
        self.answered = False
        """Whether any call came to an answer that another run could take over."""
        self._headway = Headway(
            alias=player.candidate.alias,
            done=0,
            total=len(self._task_ids) * self._settings.repeats.trials,
            successes=0,
            infrastructure_stops=0,
            tokens=0,
        )

    async def measure(self, identities: Identities) -> CandidateResult:
        """Play every task, `max_parallel_tasks` at once. Raises: EvalError where the whole run has to stop."""
        self._showing.show(self._headway)
        await self._play(self._first(), self._headway.total)
        if self._repeats:
            again = [_Job(job.trial + self._trials, job.task_id) for job in self._stopped_jobs()]
            self._headway = dataclasses.replace(self._headway, total=self._headway.total + len(again))
            await self._play(iter(again), len(again))
        candidate = self._player.candidate
        scores = tuple(self._scores[_Job(0, task_id)] for task_id in self._task_ids)
        return CandidateResult(
            candidate=candidate,
            scores=scores,
            aggregate=aggregate(
                scores,
                tasks=self._player.prepared.plan.tasks_of(candidate.alias),
                scope=scope_of(self._settings),
                identities=identities,
            ),
            repeated=self._repeated() if self._repeats else None,
            rejections=self._rejections,
            exhausted=self._exhausted,
        )

    @property
    def _trials(self) -> int:
        return self._settings.repeats.trials

    @property
    def _repeats(self) -> bool:
        return self._settings.schema_version == REPEATING

    def _first(self) -> Iterator[_Job]:
        return (_Job(trial, task_id) for trial in range(self._trials) for task_id in self._task_ids)

    def _stopped_jobs(self) -> list[_Job]:
        return [job for job in self._first() if self._scores[job].non_candidate_stop]

    def _repeated(self) -> Repeated:
        """Over all trials, each as its last drive went."""
        last = {job: self._scores[job] for job in self._first()}
        for job, score in self._scores.items():
            if job.trial >= self._trials:
                trial = job.trial - self._trials
                last[_Job(trial, job.task_id)] = dataclasses.replace(score, trial=trial)
        return repeated(last.values(), trials=self._trials)

    async def _play(self, jobs: Iterator[_Job], count: int) -> None:
        await in_flight(jobs, max(1, min(self._settings.limits.max_parallel_tasks, count)), self._one)

    async def _one(self, job: _Job) -> None:
        await self._watching.before_task()
        played = await self._player.play(job.task_id, job.trial)
        score = score_episode(self._player.prepared.scripts[job.task_id], played.evidence, self._settings.scoring)
        self._scores[job] = score
        self._note(played, score)
        cause = stop_cause(score, played.outcomes[-1] if played.outcomes else None)
        if score.non_candidate_stop and job.trial == 0:
            self.stop_causes[cause] += 1
        if attribution(score.episode_status) == "infrastructure":
            await self._player.meter.stopped_by_infrastructure(cause)

    def _note(self, played: Played, score: TaskScore) -> None:
        self._used.add(played.evidence, played.request)
        self.answered = self.answered or any(one.call_status in IMPORTED for one in played.evidence.turns)
        for outcome in played.outcomes:
            self._exhausted += outcome.status == "retry_exhausted"
            if outcome.status == "provider_rejected":
                self._rejections[str(outcome.attempts[-1].http_status)] += 1
        now = self._headway
        self._headway = dataclasses.replace(
            now,
            done=now.done + 1,
            successes=now.successes + score.task_success,
            infrastructure_stops=now.infrastructure_stops + score.non_candidate_stop,
            tokens=now.tokens + sum(map(tokens_of, played.outcomes)),
        )
        self._showing.show(self._headway)
