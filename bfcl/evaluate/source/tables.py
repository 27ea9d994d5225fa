"""Do both tables hold what the manifest says of them, row by row? Rule: evaluation.md §3, gates 6-9."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

from bfcl.canonical import canonical_text
from bfcl.digest import Digest, Sha256Stream, sha256_file
from bfcl.errors import BfclError, EvalError, Problem, ReleaseError, raise_all
from bfcl.evaluate.settings.model import ClaimedSource
from bfcl.evaluate.source.gates import SHOWN, Place, SourceGate, refusal, retold
from bfcl.evaluate.source.published import HASH_MISMATCH, PUBLICATION_INVALID
from bfcl.exports.decode_row import decode_row
from bfcl.exports.row import ExportRow
from bfcl.release.held_out import held_out_problems
from bfcl.release.read import TABLE_ARTIFACTS, Release, TableName
from bfcl.stages.artifacts import ARTIFACTS
from bfcl.tables.benchmark import BenchmarkRow, encode_row, schema_problem
from bfcl.tables.comparison import Comparison, compare_selection
from bfcl.tables.parquet import read_rows

SCHEMA_MISMATCH: Final = "eval_source_benchmark_schema_mismatch"
TASK_INDEX_INVALID: Final = "eval_source_task_index_invalid"

LONGEST_ID: Final = 200
_FORBIDDEN: Final = re.compile(r'[\s\x00-\x1f\x7f-\x9f/\\:*?"<>|]')
_SELECTION: Final = "balanced_tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Both tables once they passed."""

    rows: tuple[ExportRow, ...]
    """The published rows, in order."""
    raw_ids: tuple[str, ...]
    files: Mapping[str, Digest]
    """Each file that a gate relied on, by its path below the run directory; the manifest is not among them."""


class _Decoded(NamedTuple):
    rows: tuple[ExportRow, ...]
    digests: Mapping[TableName, Digest]


def read_tables(release: Release, source: ClaimedSource) -> Tables:
    """Pass both tables through their gates, each of which stops at its own failures.

    Raises: EvalError `eval_source_benchmark_hash_mismatch`, `eval_source_benchmark_schema_mismatch`,
    `eval_source_publication_invalid`, `eval_source_task_index_invalid`.
    """
    files = _hashed(release, source)
    raise_all(EvalError, [problem for name in TABLE_ARTIFACTS for problem in _schema_problems(release, name)])
    try:
        decoded = _decoded(release)
        seen = compare_selection(release.path("raw"), release.path("published"))
        held_out = retold(SourceGate.ROWS, PUBLICATION_INVALID, held_out_problems(release))
    except ReleaseError as error:
        raise EvalError(retold(SourceGate.SCHEMA, SCHEMA_MISMATCH, error.problems)) from None
    found = [*_row_problems(release, seen), *_digest_problems(release, decoded.digests), *held_out]
    # Rows that are no raw rows have no place among them.
    found += [] if seen.differences else _order_problems(release, seen)
    raise_all(EvalError, found)
    raise_all(EvalError, list(_id_problems(release, seen)))
    return Tables(rows=decoded.rows, raw_ids=tuple(seen.raw_ids), files=files)


# --- gate 6: bytes --------------------------------------------------------------------------------------------------


def _hashed(release: Release, source: ClaimedSource) -> dict[str, Digest]:
    """The digest of every file that the gates behind this one read."""
    problems: list[Problem] = []
    files: dict[str, Digest] = {}
    for name in TABLE_ARTIFACTS:
        declared = _declared(release, source, name)
        problems += _hash(release, release.table(name).file, declared, files)
    wanted = release.path("published")
    if source.benchmark != wanted:
        message = (
            f"the configuration was read against `{source.benchmark.name}`, the manifest publishes `{wanted.name}`"
        )
        problems.append(_unlike(release, wanted.name, message, "publication.published.file"))
    for artifact in _beside(release):
        claim = {f"artifacts.{artifact}.content_hash": release.artifacts[artifact]}
        problems += _hash(release, ARTIFACTS[artifact].file, claim, files)
    raise_all(EvalError, problems)
    return files


def _declared(release: Release, source: ClaimedSource, name: TableName) -> dict[str, object]:
    """Who says what a table's bytes hash to."""
    artifact = TABLE_ARTIFACTS[name]
    declared: dict[str, object] = {
        f"publication.{name}.content_hash": release.table(name).content_hash,
        f"artifacts.{artifact}.content_hash": release.artifacts.get(artifact),
    }
    exports = release.manifest["exports"]
    if name == "published":
        if isinstance(exports, Mapping) and "benchmark_content_hash" in exports:
            declared["exports.benchmark_content_hash"] = exports["benchmark_content_hash"]
        declared["the configuration"] = source.benchmark_hash
    return declared


def _beside(release: Release) -> Iterator[str]:
    """Artifacts that say in which order rows stand and what none of them may use."""
    if "dedup_balancing" in release.holding:
        yield _SELECTION
    if "held_out" in release.holding:
        yield from ("held_out_normalized", "held_out_scan")


def _hash(release: Release, file: str, declared: Mapping[str, object], files: dict[str, Digest]) -> Iterator[Problem]:
    path = release.run_dir / file
    if path.is_symlink() or not path.is_file():
        yield _unlike(release, file, f"{file} is missing or no regular file; expected it in the publication tree")
        return
    try:
        seen = sha256_file(path)
    except OSError as error:
        yield _unlike(release, file, f"{file} cannot be read: {error.strerror}")
        return
    files[file] = seen
    for claim, wanted in declared.items():
        if seen != wanted:
            said = f"{claim} says {wanted}"
            field = None if claim.startswith("the ") else claim
            yield _unlike(release, file, f"{file} has {seen}, {said}", field)


def _unlike(release: Release, file: str, message: str, field: str | None = None) -> Problem:
    return refusal(SourceGate.BYTES, HASH_MISMATCH, message, place=Place(file=release.run_dir / file, field=field))


# --- gate 7: schema and rows ----------------------------------------------------------------------------------------


def _schema_problems(release: Release, name: TableName) -> list[Problem]:
    problem = schema_problem(release.path(name))
    if problem is None:
        return []
    return retold(SourceGate.SCHEMA, SCHEMA_MISMATCH, [problem], file=release.path(name))


def _decoded(release: Release) -> _Decoded:
    """The published rows decoded; of raw rows those that are not published are decoded too and let go.

    Raises: EvalError with what is wrong with rows of both tables; ReleaseError on damaged pages.
    """
    problems: list[Problem] = []
    kept: list[ExportRow] = []
    digests: dict[TableName, Digest] = {}
    published: set[str] = set()
    order: tuple[TableName, ...] = ("published", "raw")
    for table in order:
        stream = Sha256Stream()
        for number, row in enumerate(release.rows(table), 1):
            stream.update(encode_row(row) + b"\n")
            if table == "raw" and row["task_id"] in published:
                continue
            decoded = _decode(row)
            if isinstance(decoded, ExportRow):
                kept += [decoded] if table == "published" else []
            elif len(problems) < SHOWN:
                problems += [_undecoded(release, table, number, row, message) for message in decoded]
            published.add(row["task_id"])
        digests[table] = stream.digest()
    raise_all(EvalError, problems)
    return _Decoded(tuple(kept), digests)


def _decode(row: BenchmarkRow) -> ExportRow | list[str]:
    # Whether a row may be there at all is for the next gate to say.
    decoded = decode_row({**row, "held_out_hit": None} if row["held_out_hit"] else row)
    return decoded if isinstance(decoded, ExportRow) else [fault.message for fault in decoded]


def _undecoded(release: Release, table: TableName, number: int, row: BenchmarkRow, message: str) -> Problem:
    place = Place(file=release.path(table), field=row["task_id"])
    told = f"row {number}, `{row['task_id']}`: {message}"
    return refusal(SourceGate.SCHEMA, SCHEMA_MISMATCH, told, place=place)


# --- gate 8: published against raw ----------------------------------------------------------------------------------


def _row_problems(release: Release, seen: Comparison) -> Iterator[Problem]:
    ids: dict[TableName, list[str]] = {"raw": seen.raw_ids, "published": seen.published_ids}
    for name, found in ids.items():
        claimed = release.table(name).rows
        if len(found) != claimed:
            message = f"holds {len(found)} rows, the manifest says {claimed}"
            yield _unpublished(release, name, message, f"publication.{name}.rows")
    for task_id, column in seen.differences:
        detail = "is not in the raw table" if column is None else f"differs from its raw row in `{column}`"
        yield _unpublished(release, "published", f"row `{task_id}` {detail}")


def _digest_problems(release: Release, digests: Mapping[TableName, Digest]) -> Iterator[Problem]:
    for name, digest in digests.items():
        claimed = release.table(name).rows_digest
        if digest != claimed:
            message = f"the rows have {digest}, the manifest says {claimed}"
            yield _unpublished(release, name, message, f"publication.{name}.rows_digest")


def _order_problems(release: Release, seen: Comparison) -> Iterator[Problem]:
    """Whether the published rows stand in the order that the publication block declares."""
    if "dedup_balancing" not in release.holding:
        if not seen.in_raw_order:
            yield _unpublished(release, "published", "rows do not stand in the order of the raw table")
        return
    path = release.run_dir / ARTIFACTS[_SELECTION].file
    try:
        rows = [row for row in read_rows(path, _SELECTION) if row["selected"]]
    except BfclError as error:
        yield from retold(SourceGate.ROWS, PUBLICATION_INVALID, error.problems, file=path)
        return
    ranked = sorted((-1 if row["selection_rank"] is None else row["selection_rank"], row["task_id"]) for row in rows)
    selected = [task_id for _, task_id in ranked]
    for rank, (wanted, other) in enumerate(zip_longest(selected, seen.published_ids)):
        if wanted != other:
            message = f"row {rank} is {_named(other)}, the selection has {_named(wanted)} there"
            yield _unpublished(release, "published", message)
            return


def _named(task_id: str | None) -> str:
    return "absent" if task_id is None else f"`{task_id}`"


def _unpublished(release: Release, name: TableName, message: str, field: str | None = None) -> Problem:
    return refusal(SourceGate.ROWS, PUBLICATION_INVALID, message, place=Place(file=release.path(name), field=field))


# --- gate 9: task ids -----------------------------------------------------------------------------------------------


def _id_problems(release: Release, seen: Comparison) -> Iterator[Problem]:
    ids: dict[TableName, list[str]] = {"published": seen.published_ids, "raw": seen.raw_ids}
    told: set[tuple[str, str]] = set()
    for name, found in ids.items():
        counted = Counter(found).items()
        faults = [pair for task_id, count in counted for pair in _id_faults(task_id, count) if pair not in told]
        for task_id, fault in faults[:SHOWN]:
            message = f"task id {canonical_text(task_id)} {fault}"
            place = Place(file=release.path(name), field="task_id")
            yield refusal(SourceGate.TASK_IDS, TASK_INDEX_INVALID, message, place=place)
        # A published row is a raw row too: once is enough.
        told.update(faults)


def _id_faults(task_id: str, count: int) -> Iterator[tuple[str, str]]:
    """What keeps an id from naming a task, and a file, wherever results are written."""
    if count > 1:
        yield task_id, f"stands in {count} rows; expected one"
    if not task_id or len(task_id) > LONGEST_ID:
        yield task_id, f"has {len(task_id)} characters; expected 1 to {LONGEST_ID}"
    if task_id.startswith(("-", ".")):
        yield task_id, "starts with a dot or a dash; expected another first character"
    odd = _FORBIDDEN.findall(task_id)
    if odd:
        listed = ", ".join(canonical_text(one) for one in sorted(set(odd)))
        yield task_id, f'holds {listed}; expected no white space, control character or any of / \\ : * ? " < > |'
