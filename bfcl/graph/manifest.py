"""What does a run know of itself when it publishes? The inputs of its manifest, gathered. Rule: generation.md §6.3."""

from __future__ import annotations

import json
import platform
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from bfcl.canonical import Json
from bfcl.config.identity import generation_config_hash, portable_path, resolved_config_hash
from bfcl.digest import Digest, blake3_file, blake3_of, sha256_of
from bfcl.errors import DriftError, Problem, raise_all
from bfcl.exports.report import ExportOutcome, exports_block
from bfcl.graph.final_rows import Summary, read_scan
from bfcl.graph.host import dependency_lock_hash, pipeline_version, pyarrow_version, revision, source_hash, system
from bfcl.graph.layout import REPORT_ARTIFACT
from bfcl.graph.levels import released_level
from bfcl.graph.publish import StagedTables
from bfcl.graph.quality import read_rejections
from bfcl.graph.runner import FACTS
from bfcl.graph.selected import read_balancing
from bfcl.graph.session import Session
from bfcl.stages.artifacts import STAGE_ARTIFACTS, stage_artifacts
from bfcl.stages.manifest_blocks import BUILD_CONTRACT
from bfcl.stages.run_manifest import ManifestInputs, Runtime, run_id, run_manifest
from bfcl.stages.wording import prompt_bundle_hash


def manifest_of(
    session: Session, summary: Summary, tables: StagedTables, exported: ExportOutcome | None
) -> dict[str, Json]:
    """The manifest of a release whose tables and exports are staged.

    Raises: DriftError `build_cache_tampered` naming every stage artifact that is not what its stage put there.
    """
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
            holding=session.holding,
            surface_quality=_rejections(session),
            balancing=read_balancing(session),
            exports=exports_block(exported, tables.published),
            export_report=None if exported is None else sha256_of(exported.report),
            held_out_scan=read_scan(session.entry("final_output")) if scanned else None,
            build=_build(session),
        )
    )


def _rejections(session: Session) -> dict[str, Json] | None:
    if "surface_quality" not in session.holding:
        return None
    return read_rejections(session.entry("surface_quality"))


def _artifacts(session: Session) -> dict[str, Digest]:
    """SHA-256 of every stage artifact, each first held against the result it shows.

    That result was hashed for its checkpoint, and equal bytes need no second SHA-256.

    Raises: DriftError `build_cache_tampered` naming every file that is missing or not what its stage put there.
    """
    wanted = {f"stage_cache/{name}": digest for name, digest in session.shown_results().items()}
    wanted[STAGE_ARTIFACTS[REPORT_ARTIFACT].file] = blake3_of(session.report)
    expected = stage_artifacts(session.holding)
    files = {name: session.run.root / relative for name, relative in expected.items()}
    odd = [
        expected[name]
        for name, path in files.items()
        if not path.is_file() or blake3_file(path) != wanted[expected[name]]
    ]
    raise_all(DriftError, [_edited(session, relative) for relative in odd])
    return {name: _content_hash(session, path) for name, path in files.items()}


def _content_hash(session: Session, path: Path) -> Digest:
    if path == session.run.report:
        return sha256_of(session.report)
    known = session.chain.content_hash(path.name)
    assert known is not None
    return known


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
        platform=system(),
        machine=platform.machine(),
        pyarrow=pyarrow_version(),
        isolation=released_level(session),
        pipeline_git_sha=sha,
        pipeline_git_dirty=dirty,
        pipeline_source_hash=source_hash(),
        dependency_lock_hash=dependency_lock_hash(),
    )


def _build(session: Session) -> dict[str, Json]:
    """Which stored results the release is made of; no hit counts, so it does not depend on cache luck."""
    stages: dict[str, Json] = {}
    for name in ("prepare", *(stage.name for stage in session.stages)):
        pointer = session.result(name)
        shards: dict[str, Json] = {shard.label: shard.fp for shard in pointer.shards}
        stages[name] = {"fp": pointer.fp, "shards": shards, **_rows_digests(session, name)}
    return {"contract": BUILD_CONTRACT, "publication_key": session.publication_key, "stages": stages}


def _rows_digests(session: Session, name: str) -> dict[str, Json]:
    entry = session.entry(name)
    if FACTS not in entry.files:
        return {}
    facts: Mapping[str, Json] = json.loads(entry.file(FACTS).read_bytes())
    return {"tables": facts}
