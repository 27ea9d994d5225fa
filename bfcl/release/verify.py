"""Is a published run directory still what its manifest says? Rule: generation.md §6.

`verify_files` looks at bytes alone and is quick; `verify_release` reads every row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bfcl.digest import sha256_file
from bfcl.errors import Problem, ReleaseError, raise_all
from bfcl.release.held_out import held_out_problems
from bfcl.release.read import TABLE_ARTIFACTS, Release, TableName, open_release
from bfcl.stages.artifacts import ARTIFACT_FILES
from bfcl.tables.benchmark import Comparison, compare_selection, encode_row, schema_problem
from bfcl.tables.parquet import rows_digest

_FIX = "generate the benchmark again; published files are never edited"
_SHOWN = 20


def verify_files(release: Release) -> list[Problem]:
    """Hash every published file and stage artifact against the manifest; pyarrow is not touched.

    Codes: `release_payload_missing`, `release_artifact_missing`, `release_hash_mismatch`, in the manifest's order.
    """
    problems = []
    for name, claimed in release.artifacts.items():
        relative = ARTIFACT_FILES[name]
        path = release.run_dir / relative
        if path.is_symlink() or not path.is_file():
            code = "release_payload_missing" if name in TABLE_ARTIFACTS.values() else "release_artifact_missing"
            message = f"{relative} is missing or no regular file"
            problems.append(Problem(code=code, subject=name, message=message, fix=_FIX))
            continue
        try:
            seen = sha256_file(path)
        except OSError as error:
            message = f"{relative} cannot be read: {error.strerror}"
            problems.append(Problem(code="release_payload_unreadable", subject=name, message=message))
            continue
        if seen != claimed:
            message = f"{relative} has {seen}, the manifest says {claimed}"
            problems.append(Problem(code="release_hash_mismatch", subject=name, message=message, fix=_FIX))
    return problems


def verify_release(run_dir: Path) -> Release:
    """Open a run directory and verify all of it: files, schemas, counts, ids, order, rows.

    Raises: ReleaseError with every problem found on the deepest level reached: files, then schemas, then rows. Codes:
    those of `open_release` and `verify_files`, `release_schema_mismatch`, `release_rows_mismatch`,
    `release_held_out_mismatch`, `release_payload_unreadable`.
    """
    release = open_release(run_dir)
    raise_all(ReleaseError, verify_files(release))
    tables = [release.path("raw"), release.path("published")]
    raise_all(ReleaseError, [problem for path in tables if (problem := schema_problem(path))])
    comparison = compare_selection(*tables)
    problems = list(_comparison_problems(release, comparison))
    for name in TABLE_ARTIFACTS:
        claimed = release.table(name).rows_digest
        seen = rows_digest(map(encode_row, release.rows(name)))
        if seen != claimed:
            problems.append(_mismatch(release, name, f"rows digest is {seen}, the manifest says {claimed}"))
    problems += held_out_problems(release)
    raise_all(ReleaseError, problems)
    return release


def _comparison_problems(release: Release, seen: Comparison) -> Iterator[Problem]:
    ids: dict[TableName, list[str]] = {"raw": seen.raw_ids, "published": seen.published_ids}
    for name, found in ids.items():
        claimed = release.table(name).rows
        if len(found) != claimed:
            yield _mismatch(release, name, f"holds {len(found)} rows, the manifest says {claimed}")
        repeated = [task_id for task_id, count in Counter(found).items() if count > 1]
        for task_id in repeated[:_SHOWN]:
            yield _mismatch(release, name, f"holds `{task_id}` more than once")
    for task_id, column in seen.differences:
        detail = (
            "is not in the raw table, or not in its order"
            if column is None
            else f"differs from its raw row in `{column}`"
        )
        yield _mismatch(release, "published", f"row `{task_id}` {detail}")


def _mismatch(release: Release, name: TableName, message: str) -> Problem:
    return Problem(code="release_rows_mismatch", subject=release.table(name).file, message=message, fix=_FIX)
