"""How a release reaches the run tree: staged, read back, committed manifest last, or withdrawn whole.

Killed at any instant, the run tree holds either no manifest or a whole release. Rule: generation.md §6.2.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.digest import sha256_file
from bfcl.errors import BfclError, Problem, ReleaseError, StageError, raise_all
from bfcl.files import remove_whole, storage, sync_dir, sync_file, write_synced
from bfcl.records.ids import TaskId
from bfcl.stages.artifacts import MANIFEST_FILE, PUBLISHED_FILE, RAW_FILE
from bfcl.stages.publication_plan import PublicationPlan
from bfcl.tables.benchmark import BenchmarkInfo, BenchmarkWriter, schema_problem
from bfcl.tables.comparison import Comparison, compare_selection
from bfcl.tables.shelf import RowShelf

PAYLOADS: Final = (RAW_FILE, PUBLISHED_FILE, "exports")
"""What a release consists of beside its manifest."""

STAGING_PREFIX: Final = ".stage12-"

Step = Callable[[str], None]
"""Told what has just happened on the disk; a test kills the process there."""


class StagedTables(NamedTuple):
    """Both tables as written and verified."""

    raw: BenchmarkInfo
    published: BenchmarkInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """What to publish.

    `fill` puts both tables into the directory it is given and says what they are; they are verified against that and
    against `plan`. `export` then adds what derives from them. `recheck` looks at pack and artifacts again and raises
    where they moved; `manifest` gives the manifest's bytes from the staged tables. All four run before the first
    published file is touched.
    """

    plan: PublicationPlan
    fill: Callable[[Path], StagedTables]
    export: Callable[[Path, StagedTables], None]
    recheck: Callable[[], None]
    manifest: Callable[[StagedTables], bytes]


def publish(run_dir: Path, request: ReleaseRequest, step: Step = lambda _: None) -> StagedTables:
    """Stage, verify, recheck, commit. Whatever fails, Ctrl-C included, leaves no staging, manifest or payload.

    Raises: StageError `storage_failed`, `release_rows_disagree`; ReleaseError `release_hash_mismatch`,
    `release_schema_mismatch`, `release_payload_unreadable`; what `fill`, `export` and `recheck` raise.
    """
    try:
        with storage(run_dir):
            staging = run_dir / f"{STAGING_PREFIX}{secrets.token_hex(8)}"
            staging.mkdir(parents=True)
        step("staging created")
        with storage(staging):
            tables = request.fill(staging)
            _sync_payloads(staging)
        step("tables staged")
        verify_staged(staging, request.plan, tables)
        step("tables verified")
        request.export(staging, tables)
        step("exports staged")
        request.recheck()
        step("rechecked")
        manifest = request.manifest(tables)
        with storage(staging / MANIFEST_FILE):
            write_synced(staging / MANIFEST_FILE, manifest)
            sync_dir(staging)
        step("manifest staged")
        commit_release(run_dir, staging, step)
    except BaseException as error:
        _withdraw_after(run_dir, error)
        raise
    return tables


def stage_release(directory: Path, lines: Callable[[], Iterable[bytes]], plan: PublicationPlan) -> StagedTables:
    """Write both tables into `directory` and read them back.

    `lines` gives the raw rows in their `encode_row` form, anew whenever it is called.
    Raises: StageError `storage_failed` on a full disk; what `verify_staged` raises.
    """
    raw_path, published_path = directory / RAW_FILE, directory / PUBLISHED_FILE
    with BenchmarkWriter(raw_path) as raw:
        raw.write_lines(lines())
        raw_info = raw.close()
    if plan.published == plan.raw:
        # The same rows give the same bytes, so they are not encoded twice.
        with storage(published_path):
            shutil.copyfile(raw_path, published_path)
            published_path.chmod(0o644)
            sync_file(published_path)
        tables = StagedTables(raw_info, raw_info)
    else:
        tables = StagedTables(raw_info, _write_published(published_path, lines(), plan))
    verify_staged(directory, plan, tables)
    return tables


def _write_published(path: Path, lines: Iterable[bytes], plan: PublicationPlan) -> BenchmarkInfo:
    wanted = set(plan.published)
    # Rows that are not as planned are told by what is read back.
    chosen = ((task_id, line) for task_id, line in zip(plan.raw, lines, strict=False) if task_id in wanted)
    with BenchmarkWriter(path) as published:
        if [task_id for task_id in plan.raw if task_id in wanted] == list(plan.published):
            published.write_lines(line for _, line in chosen)
            return published.close()
        with RowShelf(path.parent) as shelf:
            for task_id, line in chosen:
                shelf.put(task_id, line)
            published.write_lines(map(shelf.take, plan.published))
        return published.close()


def verify_staged(directory: Path, plan: PublicationPlan, tables: StagedTables) -> None:
    """Read both tables back: bytes as claimed, schema exact, ids and order as planned, published rows equal raw ones.

    Raises: ReleaseError `release_hash_mismatch`, `release_schema_mismatch`, `release_payload_unreadable`; StageError
    `release_rows_disagree`.
    """
    paths = (directory / RAW_FILE, directory / PUBLISHED_FILE)
    for path, info in zip(paths, tables, strict=True):
        _check_hash(path, info)
    raise_all(ReleaseError, [problem for path in paths if (problem := schema_problem(path))])
    comparison = compare_selection(*paths)
    raise_all(StageError, list(_plan_problems(plan, tables, comparison)))


def commit_release(run_dir: Path, staging: Path, step: Step = lambda _: None) -> None:
    """Put the staged files in place, manifest last."""
    with storage(run_dir):
        # Before any payload: readers take the manifest for the commit mark, so it must never vouch for other files.
        (run_dir / MANIFEST_FILE).unlink(missing_ok=True)
        step("old manifest removed")
        sync_dir(run_dir)
        for name in PAYLOADS:
            remove_whole(run_dir / name)
            step(f"old {name} removed")
            if (staging / name).exists():
                (staging / name).rename(run_dir / name)
                step(f"new {name} placed")
        # A power cut must not keep the manifest's rename and lose a payload's.
        sync_dir(run_dir)
        step("payloads synced")
        (staging / MANIFEST_FILE).rename(run_dir / MANIFEST_FILE)
        step("manifest placed")
        sync_dir(run_dir)
        staging.rmdir()
        step("staging removed")


def withdraw(run_dir: Path, step: Step = lambda _: None) -> None:
    """Remove a publication, manifest first, with everything an interrupted one left. Absent files are fine.

    Raises: StageError `storage_failed`.
    """
    if not run_dir.is_dir():
        return
    with storage(run_dir):
        manifest = run_dir / MANIFEST_FILE
        if os.path.lexists(manifest):
            remove_whole(manifest)
            step("manifest removed")
            sync_dir(run_dir)
        abandoned = sorted(path.name for path in run_dir.iterdir() if path.name.startswith(STAGING_PREFIX))
        for name in (*PAYLOADS, *abandoned):
            remove_whole(run_dir / name)
            step(f"{name} removed")
        sync_dir(run_dir)


def _withdraw_after(run_dir: Path, error: BaseException) -> None:
    """Clean up after `error`; where even that is refused, tell both."""
    try:
        withdraw(run_dir)
    except StageError as leftover:
        if isinstance(error, BfclError):
            raise type(error)([*error.problems, *leftover.problems]) from error
        raise


def _check_hash(path: Path, info: BenchmarkInfo) -> None:
    seen = sha256_file(path)
    if seen != info.content_hash:
        message = f"staged with {seen}, written with {info.content_hash}"
        fix = "run again with rebuild=1"
        raise ReleaseError(Problem(code="release_hash_mismatch", subject=path.name, message=message, fix=fix))


def _sync_payloads(staging: Path) -> None:
    for name in (RAW_FILE, PUBLISHED_FILE):
        with (staging / name).open("rb") as stream:
            os.fsync(stream.fileno())


def _plan_problems(plan: PublicationPlan, tables: StagedTables, seen: Comparison) -> Iterable[Problem]:
    for name, planned, ids, info in (
        (RAW_FILE, plan.raw, seen.raw_ids, tables.raw),
        (PUBLISHED_FILE, plan.published, seen.published_ids, tables.published),
    ):
        if tuple(ids) != planned or info.rows != len(planned):
            yield _disagree(name, _first_deviation(planned, ids, info.rows))
    for task_id, column in seen.differences:
        detail = "has no raw row at its place" if column is None else f"differs from its raw row in column `{column}`"
        yield _disagree(PUBLISHED_FILE, f"row `{task_id}` {detail}")


def _first_deviation(planned: Sequence[TaskId], seen: Sequence[str], written: int) -> str:
    counts = f"{len(planned)} rows planned, {written} written, {len(seen)} read back"
    for index, (one, other) in enumerate(zip(planned, seen, strict=False)):
        if one != other:
            return f"{counts}; row {index} is `{other}`, planned `{one}`"
    return counts


def _disagree(name: str, message: str) -> Problem:
    fix = "run again; if it stays, report it as a bug"
    return Problem(code="release_rows_disagree", subject=name, message=message, fix=fix)
