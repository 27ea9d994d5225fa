"""The last task: put the verified rows in place and commit them with the manifest. Rule: generation.md §6."""

from __future__ import annotations

import json
import platform
import secrets
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from bfcl.canonical import Json, readable_json
from bfcl.config.identity import generation_config_hash, portable_path, resolved_config_hash
from bfcl.digest import Digest, blake3_file, blake3_of, sha256_file
from bfcl.errors import DriftError, Problem, StageError, raise_all
from bfcl.files import storage
from bfcl.graph.commit_record import CommitRecord, write_commit_record
from bfcl.graph.host import dependency_lock_hash, pipeline_version, pyarrow_version, revision, source_hash
from bfcl.graph.layout import REPORT_ARTIFACT
from bfcl.graph.publish import ReleaseRequest, StagedTables, publish
from bfcl.graph.runner import FACTS, entry_of
from bfcl.graph.session import Session
from bfcl.graph.sources import package_digest
from bfcl.graph.unsharded import Summary, read_plan, read_scan, read_summary
from bfcl.pack.fingerprint import check_drift
from bfcl.stages import STAGES
from bfcl.stages.artifacts import PUBLISHED_FILE, RAW_FILE, STAGE_ARTIFACTS, stage_artifacts
from bfcl.stages.run_manifest import ManifestInputs, Runtime, run_id, run_manifest
from bfcl.stages.wording import prompt_bundle_hash
from bfcl.tables.benchmark import column_values, flag_values

BUILD_CONTRACT = "bfcl-build/1"


def run_publish(session: Session) -> None:
    """Stage, verify, check for drift, commit; manifest last.

    Raises: DriftError `pack_drift`, `build_cache_tampered`; StageError `storage_failed`, `release_rows_disagree`.
    """
    entry = entry_of(session, session.result("final_output"))
    summary = read_summary(entry)

    def fill(staging: Path) -> StagedTables:
        for name in (RAW_FILE, PUBLISHED_FILE):
            shutil.copyfile(entry.file(name), staging / name)
            (staging / name).chmod(0o644)
        raise_all(StageError, list(_strangers(session, staging / RAW_FILE)))
        return summary.tables

    def recheck() -> None:
        check_drift(session.pack)
        package_digest.cache_clear()
        if session.invocation.publication_key(session.release_stage) != session.publication_key:
            raise DriftError(
                Problem(
                    code="pack_drift",
                    subject="inputs",
                    message="pack, reference samples or the program changed while the run was going on",
                    fix="run the same command again",
                )
            )

    request = ReleaseRequest(
        plan=read_plan(entry),
        fill=fill,
        recheck=recheck,
        manifest=lambda tables: readable_json(_manifest(session, summary, tables)),
    )
    # Before the manifest changes: the record must never speak of another one.
    with storage(session.run.commit_record):
        session.run.commit_record.unlink(missing_ok=True)
    publish(session.run.root, request)
    record = CommitRecord(
        manifest=blake3_file(session.run.manifest),
        publication_key=session.publication_key,
        configuration=blake3_of(session.invocation.data),
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
    flags = flag_values(table, "held_out_hit")
    if flags != {scanned}:
        yield _strange(table, "held_out_hit", ", ".join(sorted(map(str, flags))), str(scanned))


def _strange(table: Path, column: str, seen: str, wanted: str) -> Problem:
    return Problem(
        code="release_rows_disagree",
        subject=table.name,
        message=f"column `{column}` holds {seen}; the manifest says {wanted}",
        fix="run with rebuild=1; if it stays, report it as a bug",
    )


def _manifest(session: Session, summary: Summary, tables: StagedTables) -> dict[str, Json]:
    loaded, stage = session.loaded, session.release_stage
    assert session.verdict is not None
    prompt = session.wording.system_prompt
    scanned = session.pack.held_out is not None
    now = datetime.now(UTC)
    reference = session.config.reference_benchmark
    return run_manifest(
        ManifestInputs(
            run_id=run_id(session.config.expt_name, now, session.wording.system_prompt_id, secrets.token_hex(16)),
            created_at=now.isoformat(),
            pipeline_version=pipeline_version(),
            generation_config_hash=generation_config_hash(loaded, stage),
            resolved_config_hash=resolved_config_hash(loaded, stage),
            runtime=_runtime(session),
            config=session.config,
            reference_samples=portable_path(loaded, reference.samples_path) if reference else None,
            pack=session.pack,
            tier=session.verdict.tier,
            prompt_bundle_hash=prompt_bundle_hash(prompt),
            tally=summary.tally,
            raw=tables.raw,
            published=tables.published,
            artifacts=_artifacts(session),
            held_out_scan=read_scan(entry_of(session, session.result("final_output"))) if scanned else None,
            build=_build(session),
        )
    )


def _artifacts(session: Session) -> dict[str, Digest]:
    """SHA-256 of every stage artifact, each first held against the result it shows.

    Raises: DriftError `build_cache_tampered` naming every file that is missing or not what its stage put there.
    """
    wanted = {f"stage_cache/{name}": digest for name, digest in session.shown_results().items()}
    wanted[STAGE_ARTIFACTS[REPORT_ARTIFACT]] = blake3_of(session.report)
    expected = stage_artifacts(session.pack.held_out is not None)
    files = {name: session.run.root / relative for name, relative in expected.items()}
    odd = [
        expected[name]
        for name, path in files.items()
        if not path.is_file() or blake3_file(path) != wanted[expected[name]]
    ]
    raise_all(DriftError, [_edited(session, relative) for relative in odd])
    return {name: sha256_file(path) for name, path in files.items()}


def _edited(session: Session, relative: str) -> Problem:
    return Problem(
        code="build_cache_tampered",
        subject=relative,
        message="is missing, or has changed since it was written",
        fix=f"delete {session.run.root / relative}; the next run writes it again",
    )


def _runtime(session: Session) -> Runtime:
    sha, dirty = revision()
    return Runtime(
        python=platform.python_version(),
        platform=platform.platform(),
        machine=platform.machine(),
        pyarrow=pyarrow_version(),
        isolation=session.oracle.isolation(),
        pipeline_git_sha=sha,
        pipeline_git_dirty=dirty,
        pipeline_source_hash=source_hash(),
        dependency_lock_hash=dependency_lock_hash(),
    )


def _build(session: Session) -> dict[str, Json]:
    """Which stored results the release is made of; no hit counts, so it does not depend on cache luck."""
    stages: dict[str, Json] = {}
    for name in ("prepare", *(stage.name for stage in STAGES)):
        pointer = session.result(name)
        shards: dict[str, Json] = {shard.label: shard.fp for shard in pointer.shards}
        stages[name] = {"fp": pointer.fp, "shards": shards, **_rows_digests(session, name)}
    return {"contract": BUILD_CONTRACT, "publication_key": session.publication_key, "stages": stages}


def _rows_digests(session: Session, name: str) -> dict[str, Json]:
    entry = entry_of(session, session.result(name))
    if FACTS not in entry.files:
        return {}
    facts: Mapping[str, Json] = json.loads(entry.file(FACTS).read_bytes())
    return {"tables": facts}
