"""Is a published run directory still what its manifest says, down to every row? Rule: generation.md §6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from bfcl.canonical import canonical_text
from bfcl.errors import Problem, ReleaseError, raise_all
from bfcl.release.file_digests import FIX, verify_files
from bfcl.release.held_out import held_out_problems
from bfcl.release.read import TABLE_ARTIFACTS, Release, TableName, open_release
from bfcl.release.restated import restated_problems
from bfcl.release.stage_rows import stage_row_problems
from bfcl.stages.artifacts import ARTIFACTS
from bfcl.tables.benchmark import encode_row, flag_values, schema_problem
from bfcl.tables.comparison import Comparison, compare_selection
from bfcl.tables.parquet import read_rows, rows_digest

_SHOWN = 20


def verify_release(run_dir: Path) -> Release:
    """Open a run directory and verify all of it: files, schemas, counts, ids, order, rows, and what restates them.

    Raises: ReleaseError with every problem found on the deepest level reached: files, then schemas, then rows, then
    what the manifest restates. Codes:
    those of `open_release` and `verify_files`, `release_schema_mismatch`, `release_rows_mismatch`,
    `release_report_mismatch`, `release_held_out_mismatch`, `release_payload_unreadable`.
    """
    release = open_release(run_dir)
    raise_all(ReleaseError, verify_files(release))
    tables = [release.path("raw"), release.path("published")]
    raise_all(ReleaseError, [problem for path in tables if (problem := schema_problem(path))])
    seen = compare_selection(*tables)
    problems = list(_comparison_problems(release, seen))
    for name in TABLE_ARTIFACTS:
        claimed = release.table(name).rows_digest
        digest = rows_digest(map(encode_row, release.rows(name)))
        if digest != claimed:
            problems.append(
                _mismatch(release, name, f"rows digest is {digest}, the manifest says {claimed}", "rows_digest")
            )
    problems += _gold_problems(release)
    problems += stage_row_problems(release)
    problems += held_out_problems(release)
    raise_all(ReleaseError, problems)
    raise_all(ReleaseError, list(restated_problems(release, seen.published_ids)))
    return release


def _comparison_problems(release: Release, seen: Comparison) -> Iterator[Problem]:
    ids: dict[TableName, list[str]] = {"raw": seen.raw_ids, "published": seen.published_ids}
    for name, found in ids.items():
        claimed = release.table(name).rows
        if len(found) != claimed:
            yield _mismatch(release, name, f"holds {len(found)} rows, the manifest says {claimed}", "rows")
        repeated = [task_id for task_id, count in Counter(found).items() if count > 1]
        for task_id in repeated[:_SHOWN]:
            yield _mismatch(release, name, f"holds `{task_id}` more than once")
    for task_id, column in seen.differences:
        detail = "is not in the raw table" if column is None else f"differs from its raw row in `{column}`"
        yield _mismatch(release, "published", f"row `{task_id}` {detail}")
    if not seen.differences:
        yield from _order_problems(release, seen)


def _gold_problems(release: Release) -> Iterator[Problem]:
    """Whether every row calls itself Gold exactly where the manifest does. Rule: generation.md §6.1."""
    claimed = release.manifest["gold_eligible"]
    for name in TABLE_ARTIFACTS:
        seen = flag_values(release.path(name), "gold_eligible")
        if seen - {claimed}:
            listed = ", ".join(sorted(map(canonical_text, seen)))
            message = f"`gold_eligible` holds {listed}, the manifest says {canonical_text(claimed)}"
            yield _mismatch(release, name, message)


def _order_problems(release: Release, seen: Comparison) -> Iterator[Problem]:
    """Whether the published rows stand in the order that the manifest names. Rule: generation.md §6.2."""
    if "dedup_balancing" not in release.holding:
        if not seen.in_raw_order:
            yield _mismatch(release, "published", "rows do not stand in the order of the raw table")
        return
    table = "balanced_tasks"
    ranked = sorted(
        (row["selection_rank"], row["task_id"])
        for row in read_rows(release.run_dir / ARTIFACTS[table].file, table)
        if row["selected"]
    )
    selected = [task_id for _, task_id in ranked]
    if selected != seen.published_ids:
        pairs = zip_longest(selected, seen.published_ids)
        rank, (one, other) = next((rank, pair) for rank, pair in enumerate(pairs) if pair[0] != pair[1])
        message = f"row {rank} is {_named(other)}, the selection has {_named(one)} there"
        yield _mismatch(release, "published", message)


def _named(task_id: str | None) -> str:
    return "absent" if task_id is None else f"`{task_id}`"


def _mismatch(release: Release, name: TableName, message: str, claim: str | None = None) -> Problem:
    """`claim` is what the manifest says otherwise of the table, if it is one value."""
    field = f"publication.{name}.{claim}" if claim is not None else None
    file = release.table(name).file
    return Problem(code="release_rows_mismatch", subject=file, field=field, message=message, fix=FIX)
