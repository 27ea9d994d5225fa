"""Two tasks of one script, measured without records and server, and the result that they come to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, cast

from bfcl.digest import sha256_json, sha256_of
from bfcl.evaluate.artifacts.result import CandidateResult, Result
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.results import RecordedResults
from bfcl.evaluate.records import Script
from bfcl.evaluate.run.asked import EpisodeChat
from bfcl.evaluate.run.episodes import Played
from bfcl.evaluate.run.evidence import Used
from bfcl.evaluate.run.how import Headway
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.trials import CandidateRun
from bfcl.evaluate.run.trials import Playing as RealPlaying
from bfcl.evaluate.run.unanswered import Cause
from bfcl.evaluate.score.aggregate import Identities
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings, Repeats
from bfcl.evaluate.source.plan import CandidateTasks, ComparisonSet
from bfcl.evaluate.source.plan import Plan as RealPlan
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.modelio.exchange import ChatRequest
from tests.evaluate.driven import LIMITS, SCORING, Answer, Answering, as_expected, candidate, script
from tests.evaluate.settings.builder import loaded
from tests.exports.staged import decoded, row

IDENTITIES = Identities(
    plan_identity=sha256_of(b"plan"),
    scoring_policy_hash=SCORING.policy_hash,
    scoring_contract_hash=SCORING.contract_hash,
    oracle_hash=None,
)


IDS = ("one", "two")
TASKS = CandidateTasks(
    alias="small", canonical_id=candidate().canonical_id, task_ids=IDS, task_ids_hash=sha256_json(IDS), excluded=0
)


class Plan:
    def tasks_of(self, _: str) -> CandidateTasks:
        return TASKS

    def task_ids(self, _: str) -> tuple[str, ...]:
        return TASKS.task_ids


@dataclass
class Prepared:
    settings: EvalSettings
    scripts: dict[str, Script]
    plan: Plan = field(default_factory=Plan)


class Playing:
    """Plays from a function of the request: a trace player without records."""

    def __init__(self, prepared: Prepared, answer: Callable[[ChatRequest], Answer]) -> None:
        self.prepared = prepared
        self.candidate = candidate()
        self.meter = Meter(Envelope(path=Path("e"), eval_config_path=Path("c")))
        self.live = Answering(answer)
        self.played: list[tuple[str, int]] = []
        self.stop_causes: Mapping[Cause, int] = {}
        """Of the run that it was measured in."""

    async def play(self, task_id: str, trial: int) -> Played:
        self.played.append((task_id, trial))
        chat = EpisodeChat(self.live, self.meter, cache=None, imported=None)
        asking = Asking(candidate=self.candidate, client=chat, mode="trace", trial=trial, clock=lambda: 0.0)
        settings = self.prepared.settings
        own = self.prepared.scripts[task_id]
        evidence = await drive(own, asking, RecordedResults(), settings.scoring, settings.limits)
        return Played(evidence=evidence, request=None, outcomes=tuple(chat.outcomes))


class Quiet:
    async def before_task(self) -> None:
        pass


class Shown:
    def __init__(self) -> None:
        self.standings: list[Headway] = []

    def show(self, standing: Headway) -> None:
        self.standings.append(standing)

    def warn(self, _: object) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError


def measured(
    root: Path, answer: Callable[[ChatRequest], Answer], *, trials: int | None
) -> tuple[CandidateResult, Playing, Shown]:
    """Two tasks of one script, measured with this candidate."""
    settings = replace(
        loaded(root),
        modes=("trace",),
        scoring=SCORING,
        limits=LIMITS,
        schema_version="1.2" if trials is None else "1.3",
        repeats=Repeats(trials=trials or 1, seed_policy="fixed"),
    )
    own = {name: replace(script(), task_id=name) for name in IDS}
    playing, shown = Playing(Prepared(settings, own), answer), Shown()
    run = CandidateRun(cast("RealPlaying", playing), Quiet(), Used(), cast("Any", shown))
    result = asyncio.run(run.measure(IDENTITIES))
    playing.stop_causes = run.stop_causes
    return result, playing, shown


def right(request: ChatRequest) -> Answer:
    return as_expected(script().turns[request.turn_index])


def result_of(root: Path, measured_one: CandidateResult) -> Result:
    """A whole result of that one candidate."""
    settings = replace(loaded(root), modes=("trace",), scoring=SCORING, limits=LIMITS, candidates=(candidate(),))
    comparison = ComparisonSet(policy="common_intersection", task_count=2, task_ids_hash=TASKS.task_ids_hash)
    plan = RealPlan(
        candidates=(TASKS,),
        comparison_set=comparison,
        verdicts=(),
        reasons=("contamination.unresolved:small",),
        plan_identity=IDENTITIES.plan_identity,
    )
    return Result(
        eval_run_id="R",
        settings=settings,
        verified=cast("VerifiedSource", Verified()),
        plan=plan,
        rows=dict.fromkeys(IDS, decoded(row())),
        identities=IDENTITIES,
        candidates=(measured_one,),
    )


class Verified:
    """What results tell of a verified source."""

    run_id = "kilns-1"
    source_identity = sha256_of(b"source")
    verification_identity = sha256_of(b"verification")
    files: ClassVar = {"run_manifest.json": sha256_of(b"manifest")}
    oracle = None
