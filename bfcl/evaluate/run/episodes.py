"""How does one task come to evidence: played, or taken from a record? Rule: evaluation.md §6, §7, §11."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bfcl.errors import EvalError
from bfcl.evaluate.artifacts.names import TOOL_TRACE_CACHE
from bfcl.evaluate.artifacts.reading import unusable
from bfcl.evaluate.drive.asking import Seat
from bfcl.evaluate.drive.desk import OracleDesk
from bfcl.evaluate.drive.results import Results
from bfcl.evaluate.drive.task_spec import published_specs
from bfcl.evaluate.drive.tasks import Tasks
from bfcl.evaluate.drive.tool_trace_cache import EpisodeRequest
from bfcl.evaluate.records import EpisodeEvidence
from bfcl.evaluate.run.asked import EpisodeChat, NotRecorded
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.run.records import Records
from bfcl.evaluate.settings.model import Candidate
from bfcl.modelio.chat_live import Completing
from bfcl.modelio.exchange import ChatOutcome

Trial: TypeAlias = int


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One episode and what is not in its evidence."""

    evidence: EpisodeEvidence
    request: EpisodeRequest | None
    """Of its record; None in a trace."""
    outcomes: tuple[ChatOutcome, ...]
    """Of its calls, as far as they are known: an episode taken whole may come without them."""


def tasks_of(prepared: Prepared) -> Tasks:
    """The tasks that a run plays."""
    oracle, specs = prepared.verified.oracle, None
    if prepared.settings.executable:
        assert oracle is not None
        specs = published_specs(oracle.pack, prepared.verified.manifest, list(prepared.rows.values()))
    return Tasks(settings=prepared.settings, scripts=prepared.scripts, rows=prepared.rows, specs=specs)


def recorded_tasks(prepared: Prepared) -> Tasks:
    """The same tasks with the results that their rows have: what a conversation comes to before anything runs."""
    return Tasks(settings=prepared.settings, scripts=prepared.scripts, rows=prepared.rows, specs=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """Plays the tasks of one candidate. `live` is asked for what no record answers."""

    prepared: Prepared
    candidate: Candidate
    tasks: Tasks
    records: Records
    live: Completing
    meter: Meter
    desk: OracleDesk | None
    """None where nothing runs, and where every episode is on record already."""

    async def play(self, task_id: str, trial: Trial) -> Played:
        """Bring one task to its evidence.

        Raises: EvalError where the whole run has to stop; of damaged records; `eval_artifact_invalid` where a concluded
        run has no record of the episode.
        """
        if self.tasks.specs is None:
            evidence, outcomes = await self.driven(task_id, trial, self._results)
            return Played(evidence=evidence, request=None, outcomes=outcomes)
        request = self._request(task_id, trial)
        taken = await self._taken(request)
        if taken is not None:
            return Played(evidence=taken, request=request, outcomes=self._outcomes(taken))
        if self.desk is None:
            path = self.prepared.settings.outputs.output_dir / TOOL_TRACE_CACHE
            raise EvalError(unusable(path, f"has no episode of {task_id} in trial {trial}, and the run is concluded"))
        if self.records.episodes is not None:
            await self.records.episodes.begin(request)
        evidence, outcomes = await self.driven(task_id, trial, self._results)
        if self.records.episodes is not None:
            await self.records.episodes.complete(request, evidence)
        return Played(evidence=evidence, request=request, outcomes=outcomes)

    # --- playing ---

    async def driven(
        self, task_id: str, trial: Trial, results: Callable[[str], Results]
    ) -> tuple[EpisodeEvidence, tuple[ChatOutcome, ...]]:
        """Drive a task. Where a concluded run has no record of a call, the time was up before that call: once more so.

        `results` makes the source of results of one drive. Raises: as `play`.
        """
        chat = self._chat(None)
        try:
            return await self._drive(task_id, trial, results(task_id), chat), tuple(chat.outcomes)
        except NotRecorded:
            chat = self._chat(len(chat.outcomes))
            return await self._drive(task_id, trial, results(task_id), chat), tuple(chat.outcomes)

    def _results(self, task_id: str) -> Results:
        return self.tasks.results(task_id, self.desk)

    def _chat(self, ends_after: int | None) -> EpisodeChat:
        return EpisodeChat(
            self.live,
            self.meter,
            cache=self.records.calls,
            imported=self.records.earlier_calls,
            ends_after=ends_after,
        )

    async def _drive(self, task_id: str, trial: Trial, results: Results, chat: EpisodeChat) -> EpisodeEvidence:
        seat = Seat(candidate=self.candidate, client=chat, trial=trial, clock=chat.clock)
        return await self.tasks.play(task_id, seat, results)

    # --- records ---

    def _request(self, task_id: str, trial: Trial) -> EpisodeRequest:
        settings, verified = self.prepared.settings, self.prepared.verified
        assert verified.oracle is not None
        return EpisodeRequest(
            candidate_alias=self.candidate.alias,
            canonical_model_identity=self.candidate.canonical_id,
            task_id=task_id,
            trial=trial,
            plan_identity=self.prepared.plan.plan_identity,
            eval_config_hash=settings.eval_config_hash,
            scoring_policy_hash=settings.scoring.policy_hash,
            source_verification_identity=verified.verification_identity,
            oracle_fingerprint=verified.oracle.pack.fingerprint,
            script_hash=self.tasks.scripts[task_id].script_hash,
            task_spec_hash=self.tasks.spec(task_id).spec_hash,
        )

    async def _taken(self, request: EpisodeRequest) -> EpisodeEvidence | None:
        """The episode whole, from this run's record or another's. Its calls come with it, or it is played."""
        records = self.records
        own = None if records.episodes is None else records.episodes.find(request)
        if own is not None or records.earlier_episodes is None:
            return own
        evidence = records.earlier_episodes.find(request)
        if evidence is None or not await self._calls_taken(evidence):
            return None
        if records.episodes is not None:
            await records.episodes.put(request, evidence)
        return evidence

    async def _calls_taken(self, evidence: EpisodeEvidence) -> bool:
        """Whether every call of an episode of another run is on this run's record now."""
        if self.records.calls is None:
            return True
        assert self.records.earlier_calls is not None
        found = [self.records.earlier_calls.exchange(turn.request_hash) for turn in evidence.turns]
        exchanges = [one for one in found if one is not None]
        if len(exchanges) < len(found):
            return False
        for exchange in exchanges:
            await self.records.calls.put(exchange.request, exchange.outcome)
        return True

    def _outcomes(self, evidence: EpisodeEvidence) -> tuple[ChatOutcome, ...]:
        calls = self.records.calls or self.records.earlier_calls
        if calls is None:
            return ()
        found = (calls.exchange(turn.request_hash) for turn in evidence.turns)
        return tuple(one.outcome for one in found if one is not None)
