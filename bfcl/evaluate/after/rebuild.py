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
from bfcl.evaluate.after.recalled import CACHE_INVALID, recalled_results
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.artifacts.names import CANDIDATE_CACHE, MANIFEST, TOOL_TRACE_CACHE
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.artifacts.result import CandidateResult, Result
from bfcl.evaluate.drive.evidence_json import evidence_json
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.drive.tool_trace_cache import ToolTraceCache
from bfcl.evaluate.records import EpisodeEvidence, Script
from bfcl.evaluate.run.asked import Nobody
from bfcl.evaluate.run.directory import Before
from bfcl.evaluate.run.episodes import Played, Player, tasks_of
from bfcl.evaluate.run.evidence import Used
from bfcl.evaluate.run.how import Silent
from bfcl.evaluate.run.measuring import identities_of, result_of
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.run.records import Records
from bfcl.evaluate.run.trials import CandidateRun
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import Candidate, EvalSettings
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

Onlooker: TypeAlias = Callable[[Script, EpisodeEvidence], None]
"""Gets to see every episode, once it is known to hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """A finished evaluation, made again of what it recorded."""

    result: Result
    calls: CandidateCache
    episodes: ToolTraceCache | None
    """None where nothing was executed."""


def rebuild(directory: Path, whereabouts: Whereabouts | None = None, *, seen: Onlooker | None = None) -> Rebuilt:
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
    rows = plan.rows(verified.rows)
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


async def _measured(prepared: Prepared, records: Records, onlooker: Onlooker | None) -> Result:
    settings, identities, tasks = prepared.settings, identities_of(prepared), tasks_of(prepared)
    meter = Meter(Envelope(path=settings.path, eval_config_path=settings.path))
    used = Used()
    measured: list[CandidateResult] = []
    for candidate in settings.candidates:
        player = Player(
            prepared=prepared,
            candidate=candidate,
            tasks=tasks,
            records=records,
            live=Nobody(),
            meter=meter,
            desk=None,
        )
        run = CandidateRun(_Again(player, onlooker), _Unwatched(), used, Silent())
        measured.append(await run.measure(identities))
    used.check(records)
    return result_of(prepared, measured)


class _Again:
    """Plays from the record, and an executed episode once more over what its oracle answered. Implements `Playing`."""

    def __init__(self, player: Player, onlooker: Onlooker | None) -> None:
        self._player = player
        self._onlooker = onlooker

    @property
    def prepared(self) -> Prepared:
        return self._player.prepared

    @property
    def candidate(self) -> Candidate:
        return self._player.candidate

    @property
    def meter(self) -> Meter:
        return self._player.meter

    async def play(self, task_id: str, trial: int) -> Played:
        """See `Player.play`. Raises also: EvalError `eval_tool_trace_cache_invalid` where it comes out differently."""
        played = await self._player.play(task_id, trial)
        if self._player.tasks.specs is not None:
            await self._hold(task_id, trial, played.evidence)
        if self._onlooker is not None:
            self._onlooker(self.prepared.scripts[task_id], played.evidence)
        return played

    async def _hold(self, task_id: str, trial: int, recorded: EpisodeEvidence) -> None:
        tasks, scoring = self._player.tasks, self.prepared.settings.scoring
        again, _ = await self._player.driven(
            task_id, trial, lambda one: recalled_results(recorded, tasks.spec(one), scoring)
        )
        # Prose is outside every hash, and the oracle's own is not made again.
        parted = first_difference(*(evidence_json(dataclasses.replace(one, detail=None)) for one in (again, recorded)))
        if parted is not None:
            message = (
                f"the episode of {task_id} in trial {trial} holds {parted.right} at {parted.path}; "
                f"driven again over the same answers it gives {parted.left}"
            )
            fix = "restore the file from a copy; a record is never mended"
            path = self.prepared.settings.outputs.output_dir / TOOL_TRACE_CACHE
            raise EvalError(Problem(code=CACHE_INVALID, path=str(path), message=message, fix=fix))


class _Unwatched:
    """Nobody is asked, so nothing has to be held still meanwhile. Implements `Watcher`."""

    async def before_task(self) -> None:
        """Nothing."""
