"""The pottery studio with something held out: its verified benchmark, settings that ask for the mode, and a run around.

    bench = held_out_bench(tmp_path)
    report = bench.run(bench.private())

What is private of it is the kiln `ATTIC` and the templates of `RESERVED`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bfcl.canonical import Json, canonical_text
from bfcl.digest import sha256_of
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.held_out.playing import Chat, Ended
from bfcl.evaluate.held_out.private import PrivateTasks, private_tasks
from bfcl.evaluate.held_out.report import Basis, HeldOutReport
from bfcl.evaluate.held_out.run import run_held_out
from bfcl.evaluate.records import Script, TaskScore
from bfcl.evaluate.settings.model import (
    Candidate,
    ClaimedSource,
    Contamination,
    EvalSettings,
    HeldOutEval,
    Outputs,
    Repeats,
    SourceOracle,
)
from bfcl.evaluate.source.plan import Plan, plan_of
from bfcl.evaluate.source.verified import CheckedOracle, VerifiedSource
from bfcl.modelio.exchange import ChatOutcome, ChatRequest
from bfcl.pack.held_out import policy_hash, reserved_refs
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from bfcl.release.read import PublishedTable, Release
from tests.evaluate.drive.benchmark import benchmark_of, with_deadlines
from tests.evaluate.driven import LIMITS, SCORING, Answer, as_expected, candidate, outcome_of, words
from tests.packs import ALL_POLICIES, Edit, held_out, put, run_config, write_pack

ATTIC = {"kiln_id": "K-8", "zone": "attic", "status": "idle", "recent_firings": ["F-12"]}
RESERVED = ("kiln_unnamed", "last_firing")
HELD_OUT = held_out({"kilns": ["K-8"]}, RESERVED, seed=5)
SECRETS = ("K-8", "attic")
"""Values that only private tasks say."""


def studio(root: Path, *edits: Edit, templates: Sequence[str] = ALL_POLICIES) -> Pack:
    """The studio with a kiln in the attic; nothing is held out unless an edit says so."""
    pack = write_pack(root / "studio", put("fixtures.json", ("kilns", "-"), ATTIC), *edits, templates=templates)
    return load_pack(run_config(pack), project=root)


def section_of(pack: Pack, **edits: Any) -> HeldOutEval:
    """The section that equals the policy of the pack."""
    policy = pack.held_out
    assert policy is not None
    good: dict[str, Any] = {
        "contract_version": "1.0",
        "policy_hash": policy_hash(policy),
        "fixture_refs": tuple(sorted(reserved_refs(policy))),
        "template_ids": policy.templates,
        "seed": policy.seed,
        "pack_version": pack.manifest.version,
        "max_tasks_per_template": 2,
    }
    return HeldOutEval(**{**good, **edits})


class Scripted:
    """The client of one episode; it answers by a function and keeps what it was asked."""

    def __init__(self, answer: Callable[[ChatRequest], Answer]) -> None:
        self._answer = answer
        self.requests: list[ChatRequest] = []
        self.outcomes: list[ChatOutcome] = []

    def clock(self) -> float:
        return 0.0

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        assert deadline > 0.0
        self.requests.append(request)
        self.outcomes.append(outcome_of(request, self._answer(request)))
        return self.outcomes[-1]


@dataclass
class Around:
    """The run around: a client for each episode, and a note of all that it was told."""

    answer: Callable[[ChatRequest], Answer]
    jobs: int = 2
    chats: list[Scripted] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    before: int = 0
    ended: list[Ended] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def asking(self, candidate: Candidate) -> AsyncIterator[Callable[[], Chat]]:
        self.asked.append(candidate.alias)

        def client() -> Chat:
            self.chats.append(Scripted(self.answer))
            return self.chats[-1]

        yield client

    async def before_task(self) -> None:
        self.before += 1

    async def after_task(self, ended: Ended) -> None:
        self.ended.append(ended)

    @property
    def statuses(self) -> list[str]:
        """How the tasks ended, in the order in which they did."""
        return [one.score.episode_status for one in self.ended]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Everything that a run hands over."""

    settings: EvalSettings
    verified: VerifiedSource

    @property
    def pack(self) -> Pack:
        assert self.verified.pack is not None
        return self.verified.pack

    @property
    def plan(self) -> Plan:
        return plan_of(self.settings, self.verified)

    def asking_for(self, *modes: Any, **edits: Any) -> Bench:
        """The same with other settings; `section__<field>` edits the section."""
        section = {name.removeprefix("section__"): edits.pop(name) for name in list(edits) if "__" in name}
        assert self.settings.held_out is not None
        changed = dataclasses.replace(self.settings.held_out, **section)
        settings = dataclasses.replace(self.settings, modes=modes or self.settings.modes, held_out=changed, **edits)
        return Bench(settings=settings, verified=dataclasses.replace(self.verified, modes=settings.modes))

    def patient(self) -> Bench:
        """The same with an oracle that is given ten minutes for everything."""
        assert self.verified.oracle is not None
        config = with_deadlines(self.verified.oracle.config, tool_s=600.0, episode_s=600.0)
        oracle = dataclasses.replace(self.verified.oracle, config=config)
        return Bench(settings=self.settings, verified=dataclasses.replace(self.verified, oracle=oracle))

    def private(self) -> PrivateTasks:
        return asyncio.run(private_tasks(self.settings, self.verified))

    def scripts(self, private: PrivateTasks) -> dict[str, Script]:
        """Of all tasks, public and private, by id."""
        public = {row.task_id: read_script(row) for row in self.verified.rows}
        return {**public, **{one.row.task_id: one.script for one in private.tasks}}

    def answering(self, private: PrivateTasks, *, fails: Callable[[Script], bool]) -> Around:
        """A run whose candidates do as every script expects, or only talk where it is one that they fail."""
        scripts = self.scripts(private)

        def answer(request: ChatRequest) -> Answer:
            script = scripts[request.task_id]
            return words(" ") if fails(script) else as_expected(script.turns[request.turn_index])

        return Around(answer)

    def run(
        self, private: PrivateTasks | None, around: Around, seen: Mapping[str, Sequence[TaskScore]] | None = None
    ) -> HeldOutReport:
        return asyncio.run(
            run_held_out(
                Basis(eval_run_id="run-1", settings=self.settings, verified=self.verified, plan=self.plan),
                around,
                seen=seen,
                private=private,
            )
        )


def held_out_bench(root: Path, *edits: Edit, templates: Sequence[str] = ALL_POLICIES, limit: int = 12) -> Bench:
    """The studio's benchmark as verified, of at most `limit` tasks a category; `edits` hold something out."""
    pack = studio(root, *(edits or (HELD_OUT,)), templates=templates)
    made = benchmark_of(pack.root, task_generation__candidate_tasks_per_category=limit)
    manifest: dict[str, Json] = {**made.manifest, "run_id": "trial-1", "oracle_clock": made.config.oracle_runtime.clock}
    verified = _verified(root, made.pack, manifest)
    verified = dataclasses.replace(
        verified,
        rows=made.rows,
        task_ids=tuple(row.task_id for row in made.rows),
        oracle=CheckedOracle(pack=made.pack, config=made.config, resource_hash=sha256_of(b"backend"), probed=True),
    )
    return Bench(settings=_settings(root, made.pack), verified=verified)


def told(report: HeldOutReport) -> dict[str, Any]:
    """The report as its readers have it."""
    return dict(json.loads(canonical_text(report.to_json())))


def _verified(root: Path, pack: Pack, manifest: Mapping[str, Json]) -> VerifiedSource:
    table = PublishedTable(
        file="benchmark.parquet", rows=0, content_hash=sha256_of(b"table"), rows_digest=sha256_of(b"rows")
    )
    release = Release(
        run_dir=root / "run",
        manifest=manifest,
        raw=table,
        published=table,
        artifacts={},
        held_out={"evaluated": pack.held_out is not None},
        holding=frozenset(),
        exports={},
    )
    return VerifiedSource(
        release=release,
        manifest_hash=sha256_of(b"manifest"),
        rows=(),
        task_ids=(),
        raw_ids=(),
        files={},
        modes=("held_out_eval",),
        oracle=None,
        exposures=(),
        source_identity=sha256_of(b"source"),
        verification_identity=sha256_of(b"verification"),
    )


def _settings(root: Path, pack: Pack) -> EvalSettings:
    return EvalSettings(
        path=root / "eval.yaml",
        schema_version="1.2",
        source=ClaimedSource(
            manifest=root / "run" / "run_manifest.json",
            manifest_hash=sha256_of(b"manifest"),
            run_id="trial-1",
            benchmark=root / "run" / "benchmark.parquet",
            benchmark_hash=sha256_of(b"table"),
            benchmark_schema_version="1.1",
            lineage_policy="strict_separation",
            gold_eligible=True,
            oracle_hash=sha256_of(b"backend"),
        ),
        oracle=SourceOracle(
            kind="python", pack_manifest=pack.root / "manifest.yaml", resource=pack.root / "backend.py"
        ),
        modes=("held_out_eval",),
        scoring=SCORING,
        limits=LIMITS,
        repeats=Repeats(trials=1, seed_policy="fixed"),
        candidates=(candidate(),),
        contamination=Contamination(enforce=True, on_violation="fail_run", comparison_set="common_intersection"),
        publication_requested=False,
        outputs=Outputs(
            output_dir=root / "out",
            write_task_results=False,
            write_eval_manifest=True,
            cache_candidate_responses=False,
            cache_tool_results=False,
        ),
        held_out=section_of(pack) if pack.held_out is not None else None,
        publication_allowed=False,
        publication_scope="trace_only",
        non_publication_reasons=("publication.requested",),
        hash_payload={},
        eval_config_hash=sha256_of(b"configuration"),
        measurement_hash=sha256_of(b"measurement"),
    )
