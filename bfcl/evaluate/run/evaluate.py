"""How does an envelope become a finished evaluation? Rule: evaluation.md, from §1 to §17."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Final

from bfcl.errors import BfclError, EvalError, Problem
from bfcl.evaluate.artifacts.commit import Origin, Written, commit
from bfcl.evaluate.artifacts.manifest import imported_json
from bfcl.evaluate.artifacts.names import HELD_OUT_REPORT, REPORT
from bfcl.evaluate.artifacts.result import scope_of
from bfcl.evaluate.held_out.report import write_report
from bfcl.evaluate.run.directory import recorded_files
from bfcl.evaluate.run.estimate import estimate
from bfcl.evaluate.run.going_on import AGAIN, way_on, with_way_on
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.interrupt import run_to_end
from bfcl.evaluate.run.measuring import Measured, measure, private_tasks_of
from bfcl.evaluate.run.outcome import Completed, Preflight
from bfcl.evaluate.run.preflight import Prepared, prepare, unset_credentials
from bfcl.evaluate.run.records import open_records
from bfcl.evaluate.run.related import check_related
from bfcl.evaluate.run.remaining import remaining
from bfcl.evaluate.settings.envelope import INVALID as CLI_INVALID
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.recheck import recheck
from bfcl.files import Lock, refuse_illegible
from bfcl.pack.layout import shown

LOCK_FILE: Final = ".eval.lock"
RUNTIME_FAILED: Final = "eval_cli_runtime_failed"


def evaluate(envelope: Envelope, settings: EvalSettings, how: How) -> Completed | Preflight:
    """Run it to its end: nobody is asked before every gate is passed, and the manifest is written last.

    Raises: EvalError with the code that stopped it; BfclError of other rooms, such as StageError `storage_failed` and
    DriftError `run_locked`; KeyboardInterrupt, with every concluded call on record and no manifest.
    """
    for path, what in (
        (Path.cwd(), "the working directory"),
        (envelope.path.absolute(), "where the configuration lies"),
        (settings.outputs.output_dir, "the output directory"),
    ):
        refuse_illegible(path, what, EvalError, CLI_INVALID)
    try:
        if envelope.dry_run:
            return _dry(envelope, settings, how)
        lock = Lock(settings.outputs.output_dir / LOCK_FILE, "another evaluation is writing into this directory")
        lock.acquire()
        try:
            return _run(envelope, settings, how)
        finally:
            lock.withdraw()
    except BfclError as error:
        told = error if envelope.dry_run else with_way_on(error, settings, envelope)
        if told is error:
            raise
        raise told from error
    except OSError as error:
        raise EvalError(_failed(error, AGAIN if envelope.dry_run else way_on(settings, envelope))) from error
    finally:
        how.showing.close()


def _failed(error: OSError, way: str) -> Problem:
    """What the system refused while the run was going on, where no room has a word of its own for it."""
    place = None if error.filename is None else shown(Path(os.fsdecode(error.filename)))
    fix = f"mend what the system says, then {way}"
    message = f"the system refused: {error.strerror or type(error).__name__}"
    return Problem(code=RUNTIME_FAILED, path=place, message=message, fix=fix)


def _dry(envelope: Envelope, settings: EvalSettings, how: How) -> Preflight:
    prepared = prepare(envelope, settings, how)
    recheck(settings, prepared.verified, prepared.plan)
    hidden = run_to_end(private_tasks_of(prepared))
    oracle = prepared.verified.oracle
    calls = prepared.earlier.calls()
    check_related(prepared, calls)
    scripts = () if hidden is None else [one.script for one in hidden.tasks]
    told = estimate(prepared, scripts)
    if calls is not None and not prepared.before.concluded:
        told = dataclasses.replace(told, remaining=run_to_end(remaining(prepared, calls, scripts)))
    # Nobody is asked for what is on record, and a key is read at the first request.
    asks = not prepared.before.concluded and (told.remaining is None or told.remaining.turns > 0)
    return Preflight(
        scope=scope_of(settings),
        eval_config_hash=settings.eval_config_hash,
        task_counts={one.alias: len(one.task_ids) for one in prepared.plan.candidates},
        oracle_probed=oracle is not None and oracle.probed,
        estimate=told,
        warnings=(
            *prepared.warnings,
            *(unset_credentials(settings, how) if asks else ()),
        ),
    )


def _run(envelope: Envelope, settings: EvalSettings, how: How) -> Completed:
    prepared = prepare(envelope, settings, how)
    records = open_records(settings, prepared.earlier)
    earlier = prepared.before.manifest
    origin = Origin(
        runtime=dict(how.runtime()) if earlier is None else None,
        resumed_from=imported_json(records.imported),
        earlier=earlier,
    )
    try:
        check_related(prepared, records.earlier_calls)
        if prepared.warnings:
            how.showing.warn(prepared.warnings)
        measured = run_to_end(measure(prepared, records, envelope, how))
    except BaseException:
        records.withdraw()
        raise
    return _written(prepared, measured, origin)


def _written(prepared: Prepared, measured: Measured, origin: Origin) -> Completed:
    """Write what was measured: what may be told of private tasks first, then the public result, its manifest last."""
    settings = prepared.settings
    private = None if measured.private is None else write_report(settings.outputs.output_dir, measured.private)
    written = Written(report=private or settings.outputs.output_dir / REPORT, task_results=None, manifest=None)
    if measured.public is not None:
        further = () if private is None else (HELD_OUT_REPORT,)
        written = commit(measured.public, (*recorded_files(settings), *further), origin)
    return Completed(
        eval_run_id=prepared.before.eval_run_id,
        scope=scope_of(settings),
        candidates=tuple(candidate.alias for candidate in settings.candidates),
        report_path=written.report,
        task_results_path=written.task_results,
        manifest_path=written.manifest,
        calls=measured.calls,
        stopped=measured.stopped,
    )
