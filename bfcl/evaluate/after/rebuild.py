"""What do the records of a finished evaluation come to when everything is made of them once more? Rule: §16.4.

The run's own engine plays, scores and adds up, with nobody to ask: neither a candidate nor an oracle. Of an executable
episode the record says what the oracle answered; it is driven again over those answers, and has to come out the same.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.after.finished import require_finished
from bfcl.evaluate.after.recalled import CACHE_INVALID, RecalledResults
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.artifacts.names import CANDIDATE_CACHE, MANIFEST, TOOL_TRACE_CACHE
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.artifacts.result import CandidateResult, Result
from bfcl.evaluate.drive.evidence_json import evidence_json
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.drive.task_spec import TaskSpecs
from bfcl.evaluate.drive.tool_trace_cache import ToolTraceCache
from bfcl.evaluate.records import EpisodeEvidence, Script
from bfcl.evaluate.run.asked import Nobody
from bfcl.evaluate.run.directory import Before
from bfcl.evaluate.run.episodes import Oracle, Played, Player
from bfcl.evaluate.run.evidence import Used
from bfcl.evaluate.run.how import Silent
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.run.records import Records
from bfcl.evaluate.run.trials import CandidateRun
from bfcl.evaluate.run.watching import Watching
from bfcl.evaluate.score.aggregate import Identities
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.exposures import read_exposures
from bfcl.evaluate.source.oracle import RESOURCE_MISMATCH, RESTORE, SETTLE, check_oracle
from bfcl.evaluate.source.plan import plan_of
from bfcl.evaluate.source.published import open_source
from bfcl.evaluate.source.tables import read_tables
from bfcl.evaluate.source.verified import CheckedOracle, VerifiedSource, verified_source
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.release.read import Release
from bfcl.stages.artifacts import MANIFEST_FILE
from bfcl.stages.divergence import first_difference

_OTHER_PACK: Final = (
    "the pack changed since the evaluation: restore it, or name a copy of the one that it was made of with --pack"
)

Seen: TypeAlias = Callable[[Script, EpisodeEvidence], None]
"""Gets to see every episode, once it is known to hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """A finished evaluation, made again of what it recorded."""

    result: Result
    calls: CandidateCache
    episodes: ToolTraceCache | None
    """None where nothing was executed."""


def rebuild(directory: Path, whereabouts: Whereabouts | None = None, *, seen: Seen | None = None) -> Rebuilt:
    """Make everything again. Nobody is asked, nothing is written, no code of a pack is imported.

    Raises: EvalError of a damaged record, of a source that is not the one that was measured on, and
    `eval_artifact_invalid` where the records do not hold exactly what a whole run is made of.
    """
    require_finished(directory)
    settings = recorded_settings(directory, whereabouts)
    prepared = _prepared(directory, settings)
    records = _records(directory, settings)
    result = asyncio.run(_measured(prepared, records, seen))
    assert records.calls is not None
    return Rebuilt(result=result, calls=records.calls, episodes=records.episodes)


def _prepared(directory: Path, settings: EvalSettings) -> Prepared:
    manifest = read_document(directory / MANIFEST)
    assert manifest is not None
    verified = verified_offline(settings)
    plan = plan_of(settings, verified)
    wanted = {task_id for one in plan.candidates for task_id in one.task_ids}
    rows = {row.task_id: row for row in verified.rows if row.task_id in wanted}
    return Prepared(
        settings=settings,
        before=Before(eval_run_id=str(manifest.get("eval_run_id")), concluded=True, manifest=manifest),
        verified=verified,
        plan=plan,
        rows=rows,
        scripts={task_id: read_script(row) for task_id, row in rows.items()},
        warnings=(),
    )


def verified_offline(settings: EvalSettings) -> VerifiedSource:
    """The source, through every gate that runs nothing. Raises: EvalError with the code of the gate that refused."""
    opened = open_source(settings.source)
    tables = read_tables(opened.release, settings.source)
    oracle = _oracle(settings, opened.release)
    exposures = read_exposures(opened.release.manifest, tables.rows, opened.release.run_dir / MANIFEST_FILE)
    return verified_source(settings, opened.release, opened.manifest_hash, tables, (oracle, exposures))


def _oracle(settings: EvalSettings, release: Release) -> CheckedOracle | None:
    """Gate ten for a reader, who came after the fact and starts nothing. Raises: EvalError as `check_oracle`."""
    try:
        return check_oracle(settings, release)
    except EvalError as error:
        problems = [
            # What else lies in the pack has a fix of its own.
            dataclasses.replace(one, fix=_OTHER_PACK)
            if one.fix in (RESTORE, SETTLE) or one.code == RESOURCE_MISMATCH
            else one
            for one in error.problems
        ]
        raise EvalError(problems) from None


def _records(directory: Path, settings: EvalSettings) -> Records:
    """Raises: EvalError `eval_artifact_invalid` where no record was kept to make anything of."""
    wanted = [CANDIDATE_CACHE, *([TOOL_TRACE_CACHE] if settings.executable else [])]
    gone = [
        unusable(directory / name, "is not there; expected the record that the scores are made of")
        for name in wanted
        if not (directory / name).is_file()
    ]
    raise_all(EvalError, gone)
    return Records(
        calls=CandidateCache(directory / CANDIDATE_CACHE),
        episodes=ToolTraceCache(directory / TOOL_TRACE_CACHE) if settings.executable else None,
        earlier_calls=None,
        earlier_episodes=None,
        imported=None,
    )


async def _measured(prepared: Prepared, records: Records, seen: Seen | None) -> Result:
    settings, verified = prepared.settings, prepared.verified
    ran = verified.oracle if settings.executable else None
    oracle = None
    if ran is not None:
        oracle = Oracle(specs=TaskSpecs(ran.pack, verified.manifest, list(prepared.rows.values())), desk=None)
    identities = Identities(
        plan_identity=prepared.plan.plan_identity,
        scoring_policy_hash=settings.scoring.policy_hash,
        scoring_contract_hash=settings.scoring.contract_hash,
        oracle_hash=None if ran is None else ran.pack.fingerprint,
    )
    meter = Meter(Envelope(path=settings.path, eval_config_path=settings.path))
    used = Used()
    measured: list[CandidateResult] = []
    for candidate in settings.candidates:
        player = _Again(
            prepared=prepared,
            candidate=candidate,
            records=records,
            live=Nobody(),
            meter=meter,
            oracle=oracle,
            seen=seen,
        )
        measured.append(await CandidateRun(player, _Unwatched(prepared), used, Silent()).measure(identities))
    used.check(records)
    return Result(
        eval_run_id=prepared.before.eval_run_id,
        settings=settings,
        verified=verified,
        plan=prepared.plan,
        rows=prepared.rows,
        identities=identities,
        candidates=tuple(measured),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again(Player):
    """Plays from the record, and an executed episode once more over what its oracle answered."""

    seen: Seen | None

    async def play(self, task_id: str, trial: int) -> Played:
        """See `Player.play`. Raises also: EvalError `eval_tool_trace_cache_invalid` where it comes out differently."""
        # A slotted dataclass has no `super()` without arguments.
        played = await Player.play(self, task_id, trial)
        script = self.prepared.scripts[task_id]
        if self.oracle is not None:
            await self._hold(script, trial, played.evidence)
        if self.seen is not None:
            self.seen(script, played.evidence)
        return played

    async def _hold(self, script: Script, trial: int, recorded: EpisodeEvidence) -> None:
        assert self.oracle is not None
        spec = self.oracle.specs.of(self.prepared.rows[script.task_id])
        scoring = self.prepared.settings.scoring
        again, _ = await self._driven(script, trial, lambda: RecalledResults(recorded, spec, scoring))
        # Prose is outside every hash, and the oracle's own is not made again.
        parted = first_difference(*(evidence_json(dataclasses.replace(one, detail=None)) for one in (again, recorded)))
        if parted is not None:
            message = (
                f"the episode of {script.task_id} in trial {trial} holds {parted.right} at {parted.path}; "
                f"driven again over the same answers it gives {parted.left}"
            )
            fix = "restore the file from a copy; a record is never mended"
            path = self.prepared.settings.outputs.output_dir / TOOL_TRACE_CACHE
            raise EvalError(Problem(code=CACHE_INVALID, path=str(path), message=message, fix=fix))


class _Unwatched(Watching):
    """Nobody is asked, so nothing has to be held still meanwhile."""

    async def settle(self) -> None:
        """Nothing."""

    async def before_task(self) -> None:
        """Nothing."""
