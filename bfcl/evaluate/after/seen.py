"""What is kept of episodes while an evaluation is made again? No more than pages of failures and pairs are made of."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from bfcl.digest import Digest
from bfcl.evaluate.after.failures import Episode, Failure, Message, failure_of
from bfcl.evaluate.after.finished import Finished
from bfcl.evaluate.after.paired import Tries
from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.settings.model import Scoring
from bfcl.modelio.candidate_cache import CandidateCache

Passed = Mapping[str, tuple[str, str]]
"""By task id: whose final state passes, and that state."""


class SeenEpisode(NamedTuple):
    """One episode that holds."""

    script: Script
    evidence: EpisodeEvidence
    score: TaskScore


def failed_by_some(finished: Finished) -> frozenset[str] | None:
    """Tasks that not every candidate succeeded on, None where there is no table to tell."""
    tables = [one.results for one in finished.candidates]
    if any(table is None for table in tables):
        return None
    return frozenset(row["task_id"] for table in tables for row in table or () if not row["task_success"])


class FirstTrial:
    """The failed episodes of the first trial, and for a task a final state that passes. Later trials are ignored."""

    def __init__(self, wanted: Container[str] | None = None) -> None:
        """`wanted` are the tasks whose passing states are kept, None for all: a state may be large."""
        self._wanted = wanted
        self._failed: dict[tuple[str, str], SeenEpisode] = {}
        """By alias and task id."""
        self.passed: dict[str, tuple[str, str]] = {}
        """See `Passed`; that of the candidate that is seen first."""

    def see(self, seen: SeenEpisode) -> None:
        script, evidence, score = seen
        if evidence.trial:
            return
        if not score.task_success:
            self._failed[evidence.candidate_alias, script.task_id] = seen
        elif evidence.final_state is not None and (self._wanted is None or script.task_id in self._wanted):
            self.passed.setdefault(script.task_id, (evidence.candidate_alias, evidence.final_state))

    def failed(self, alias: str, task_ids: Iterable[str]) -> list[SeenEpisode]:
        """Those of a candidate, in the order of the ids."""
        return [self._failed[alias, task_id] for task_id in task_ids if (alias, task_id) in self._failed]


class EveryTrial:
    """How often each candidate succeeded on each task, over all trials."""

    def __init__(self, trials: int) -> None:
        """`trials` is how many are declared; further numbers are those of trials that were driven once more."""
        self._trials = trials
        self._outcomes: dict[tuple[str, str], dict[int, bool | None]] = {}
        """By alias and task id: of each trial whether it succeeded, None where the run stopped it."""

    def see(self, score: TaskScore) -> None:
        outcomes = self._outcomes.setdefault((score.candidate_alias, score.task_id), {})
        # A trial that was driven once more has the number that lies `trials` further on, and comes later.
        outcomes[score.trial % self._trials] = None if score.non_candidate_stop else score.task_success

    def tries(self, alias: str, task_ids: Iterable[str]) -> dict[str, Tries]:
        """In the order of the ids; a task that the run stopped in every trial is left out."""
        told = {}
        for task_id in task_ids:
            outcomes = self._outcomes.get((alias, task_id), {}).values()
            counted = [success for success in outcomes if success is not None]
            if counted:
                told[task_id] = Tries(successes=sum(counted), trials=len(counted))
        return told


def failures_of(
    seen: Iterable[SeenEpisode], scoring: Scoring, passed: Passed, calls: CandidateCache
) -> Iterator[Failure]:
    """The failures among episodes, one at a time: what was sent is read from the record when it is asked for."""

    def sent(request_hash: Digest) -> list[Message] | None:
        return messages_sent(request_hash, calls)

    for script, evidence, score in seen:
        episode = Episode(script=script, evidence=evidence, score=score, prompt_of=sent)
        failure = failure_of(episode, scoring, passed=passed.get(script.task_id))
        if failure is not None:
            yield failure


def messages_sent(request_hash: Digest, calls: CandidateCache) -> list[Message] | None:
    """The messages of a request, as they are on record; None where it is not."""
    exchange = calls.exchange(request_hash)
    messages = None if exchange is None else exchange.request.body.get("messages")
    return [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list | tuple) else None
