"""The last task: put the verified rows in place and commit them with the manifest. Rule: generation.md §6."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from bfcl.canonical import readable_json
from bfcl.digest import blake3_file, blake3_of
from bfcl.errors import DriftError, Problem, StageError, raise_all
from bfcl.exports.report import ExportOutcome
from bfcl.files import storage
from bfcl.graph.changed_inputs import changed_inputs
from bfcl.graph.commit_record import CommitRecord, write_commit_record
from bfcl.graph.final_rows import read_plan, read_summary
from bfcl.graph.late import late
from bfcl.graph.manifest import manifest_of
from bfcl.graph.publish import ReleaseRequest, StagedTables, publish
from bfcl.graph.recordings import recorded_so_far
from bfcl.graph.selected import read_balancing
from bfcl.graph.session import Session
from bfcl.graph.sources import package_digests
from bfcl.pack.fingerprint import check_drift
from bfcl.stages.artifacts import EXPORT_REPORT, PUBLISHED_FILE, RAW_FILE
from bfcl.stages.gold import gold_ineligibility_reasons
from bfcl.tables.benchmark import column_values, flag_values


def run_publish(session: Session) -> None:
    """Stage, verify, check for drift, commit; manifest last.

    Raises: DriftError `pack_drift`, `build_cache_tampered`; StageError `storage_failed`, `release_rows_disagree`,
    `export_schema_mismatch`, `unsupported_export_call_layout`, `export_hash_or_equivalence_mismatch`.
    """
    entry = session.entry("final_output")
    summary, plan = read_summary(entry), read_plan(entry)

    def fill(staging: Path) -> StagedTables:
        for name in (RAW_FILE, PUBLISHED_FILE):
            shutil.copyfile(entry.file(name), staging / name)
            (staging / name).chmod(0o644)
        tables = (staging / RAW_FILE, staging / PUBLISHED_FILE)
        raise_all(StageError, [problem for table in tables for problem in _strangers(session, table)])
        return summary.tables

    outcome: ExportOutcome | None = None

    def export(staging: Path, tables: StagedTables) -> None:
        nonlocal outcome
        # A report of an earlier failure must not stand beside a release that passed.
        session.views.remove([EXPORT_REPORT])
        if session.config.exports.asked_for:
            outcome = late("exported")(session, staging, tables, plan.published)

    def recheck() -> None:
        check_drift(session.pack)
        package_digests.cache_clear()
        moved = changed_inputs(session.root_inputs, session.invocation.root_inputs(session.release_stage))
        if moved:
            raise DriftError(
                Problem(
                    code="pack_drift",
                    subject="inputs",
                    message=f"changed while the run was going on: {', '.join(moved)}",
                    fix="run the same command again",
                )
            )
        # Just before the manifest: whoever finds the last checkpoint finds rows that were verified.
        session.chain.ended(session.stages[-1])

    request = ReleaseRequest(
        plan=plan,
        fill=fill,
        export=export,
        recheck=recheck,
        manifest=lambda tables: readable_json(manifest_of(session, summary, tables, outcome)),
    )
    # Before the manifest changes: the record must never speak of another one.
    with storage(session.run.commit_record):
        session.run.commit_record.unlink(missing_ok=True)
    publish(session.run.root, request)
    record = CommitRecord(
        manifest=blake3_file(session.run.manifest),
        publication_key=session.publication_key,
        configuration=blake3_of(session.invocation.data),
        recorded=recorded_so_far(session.run.embedding_cache),
        checkpoints=session.chain.files,
    )
    write_commit_record(session.run.commit_record, record)
    session.published = True


def _strangers(session: Session, table: Path) -> Iterator[Problem]:
    """Rows that contradict what the manifest will say of all of them: our fault, and never to be published."""
    assert session.verdict is not None
    manifest = session.pack.manifest
    wanted = {"pack_id": manifest.pack_id, "pack_version": manifest.version, "tier": session.verdict.tier}
    for column, value in wanted.items():
        seen = column_values(table, column)
        if seen != {value}:
            yield _strange(table, column, ", ".join(sorted(seen)), value)
    scanned = None if session.pack.held_out is None else False
    for column, flag in {"held_out_hit": scanned, "gold_eligible": _gold_eligible(session)}.items():
        flags = flag_values(table, column)
        if flags != {flag}:
            yield _strange(table, column, ", ".join(sorted(map(str, flags))), str(flag))


def _gold_eligible(session: Session) -> bool:
    """What the manifest will say of all rows."""
    assert session.verdict is not None
    balancing = read_balancing(session)
    unmet = balancing is not None and bool(balancing["unmet_targets"])
    return not gold_ineligibility_reasons(session.verdict.tier, session.config.lineage.policy, unmet)


def _strange(table: Path, column: str, seen: str, wanted: str) -> Problem:
    return Problem(
        code="release_rows_disagree",
        subject=table.name,
        message=f"column `{column}` holds {seen}; the manifest says {wanted}",
        fix="run with rebuild=1; if it stays, report it as a bug",
    )
