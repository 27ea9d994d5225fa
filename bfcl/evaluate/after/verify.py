"""Do the records of a finished evaluation give every score, aggregate and report again? Rule: evaluation.md §16.4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_file
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.after.finished import require_finished
from bfcl.evaluate.after.rebuild import Rebuilt, rebuild
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.retold import differs, document_difference, source_report_differences
from bfcl.evaluate.after.untold import UNTOLD
from bfcl.evaluate.artifacts.committed import Committed, verify_committed
from bfcl.evaluate.artifacts.manifest import ORIGIN, eval_manifest
from bfcl.evaluate.artifacts.names import (
    ARTIFACTS,
    BREAKDOWNS,
    CACHES,
    CANDIDATE_CACHE,
    HELD_OUT_REPORT,
    MANIFEST,
    REPORT,
    TOOL_TRACE_CACHE,
)
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.artifacts.report import eval_report
from bfcl.evaluate.artifacts.result import Result
from bfcl.evaluate.drive.tool_trace_cache import ToolTraceCache
from bfcl.evaluate.run.directory import recorded_files
from bfcl.evaluate.score.breakdowns import breakdowns, kinds_of
from bfcl.evaluate.score.result_rows import result_row
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.stages.divergence import first_difference
from bfcl.tables.task_results import TASK_RESULTS_FILE, TaskResultRow, read_task_results

UNCHECKED: Final = tuple(map(str, UNTOLD))
"""What no audit of files can tell, as people read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCandidate:
    """What was made again of one candidate."""

    alias: str
    tasks: int
    successful_tasks: int
    aggregate_hash: Digest

    def to_json(self) -> dict[str, Json]:
        return {
            "alias": self.alias,
            "tasks": self.tasks,
            "successful_tasks": self.successful_tasks,
            "aggregate_hash": self.aggregate_hash,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A finished evaluation that holds."""

    eval_run_id: str
    scope: str
    calls: int
    """Recorded calls that were replayed."""
    episodes: int
    """Executed episodes that were driven again; 0 in a trace."""
    candidates: tuple[CheckedCandidate, ...]
    files: Mapping[str, Digest]
    """Every file that was held against what was made again, by file name."""

    def to_json(self) -> dict[str, Json]:
        return {
            "schema_version": "1.0",
            "status": "pass",
            "eval_run_id": self.eval_run_id,
            "eval_scope": self.scope,
            "calls_replayed": self.calls,
            "episodes_driven_again": self.episodes,
            "candidates": [one.to_json() for one in self.candidates],
            "files": dict(self.files),
            "not_checked": list(UNCHECKED),
        }


def verify_evaluation(directory: Path, whereabouts: Whereabouts | None = None) -> Verified:
    """Make every result again and compare.

    Raises: EvalError `eval_artifact_invalid` with the first difference in each file that does not hold, and what
    `rebuild` raises of records and source.
    """
    require_finished(directory)
    committed: Committed | None = None
    changed: tuple[Problem, ...] = ()
    try:
        committed = verify_committed(directory)
    except EvalError as error:
        # Where a file differs tells more than that its digest does: first make it again, if its records are whole.
        changed = error.problems
        if any(Path(problem.path or "").name in _UNMADE for problem in changed):
            raise EvalError([*changed, *_damage(directory)]) from None
    rebuilt = rebuild(directory, whereabouts)
    problems = list(_differences(directory, rebuilt.result))
    told = {problem.path for problem in problems}
    problems += [problem for problem in changed if problem.path not in told]
    raise_all(EvalError, problems)
    assert committed is not None
    _check_manifest(directory, rebuilt.result)
    return _verified(committed.files, directory, rebuilt)


_UNMADE: Final = frozenset({MANIFEST, *(ARTIFACTS[name] for name in CACHES)})
"""Files that nothing can be made of, or that nothing is made of without."""


def _damage(directory: Path) -> Iterator[Problem]:
    """Which lines of the records are not as they were written; none where they were signed anew."""
    for file, opened in ((CANDIDATE_CACHE, CandidateCache), (TOOL_TRACE_CACHE, ToolTraceCache)):
        try:
            opened(directory / file)
        except EvalError as error:
            yield from error.problems


def _differences(directory: Path, result: Result) -> Iterator[Problem]:
    scores = {one.candidate.alias: one.scores for one in result.candidates}
    kinds = {task_id: kinds_of(row) for task_id, row in result.rows.items()}
    yield from document_difference(directory / REPORT, eval_report(result))
    yield from document_difference(directory / BREAKDOWNS, breakdowns(scores, kinds))
    if result.settings.outputs.write_task_results:
        rows = [result_row(score, one.candidate.canonical_id) for one in result.candidates for score in one.scores]
        yield from _table_difference(directory / TASK_RESULTS_FILE, rows)
    yield from source_report_differences(directory, result)


def _table_difference(path: Path, wanted: list[TaskResultRow]) -> Iterator[Problem]:
    seen = read_task_results(path)
    for number, (row, other) in enumerate(zip(seen, wanted, strict=False)):
        parted = first_difference(cast("Json", row), cast("Json", other))
        if parted is not None:
            where = f"row {number} ({other['candidate_alias']}, {other['task_id']}), {parted.path}"
            yield differs(path, where, parted.left, parted.right)
            return
    if len(seen) != len(wanted):
        yield unusable(path, f"holds {len(seen)} rows; the records give {len(wanted)}")


def _check_manifest(directory: Path, result: Result) -> None:
    """The manifest last: it repeats what all others say. Raises: EvalError `eval_artifact_invalid`."""
    path = directory / MANIFEST
    seen = read_document(path)
    assert seen is not None
    runtime, resumed_from = (seen.get(name) for name in ORIGIN)
    if not _is_imported(resumed_from):
        raise EvalError(unusable(path, "`resumed_from` names no records of another run, and is not null either"))
    names = _artifacts(result.settings)
    gone = [name for name in names if not (directory / ARTIFACTS[name]).is_file()]
    raise_all(
        EvalError,
        [unusable(directory / ARTIFACTS[name], "is gone, and the configuration asks for it") for name in gone],
    )
    hashes = {name: sha256_file(directory / ARTIFACTS[name]) for name in names}
    wanted = eval_manifest(result, hashes, runtime=runtime, resumed_from=resumed_from)
    raise_all(EvalError, list(document_difference(path, wanted)))


def _artifacts(settings: EvalSettings) -> tuple[str, ...]:
    """Names of everything that a run under these settings commits."""
    table = ("eval_task_results",) if settings.outputs.write_task_results else ()
    private = (HELD_OUT_REPORT,) if "held_out_eval" in settings.modes else ()
    return ("eval_report", "eval_breakdowns", *table, *recorded_files(settings), *private)


def _is_imported(value: Json) -> bool:
    """Whether this has the shape of `imported_json`."""
    if value is None:
        return True
    if not isinstance(value, Mapping) or not set(CACHES) <= value.keys() <= {*CACHES, "resumed_from"}:
        return False
    further = value.get("resumed_from", {})
    return all(_is_digest(value[name]) for name in CACHES) and (further == {} or _is_imported(further))


def _is_digest(value: Json) -> bool:
    """`{content_hash}`, null where the other run kept no such record."""
    if not isinstance(value, Mapping) or value.keys() != {"content_hash"}:
        return False
    told = value["content_hash"]
    return told is None or (isinstance(told, str) and re.fullmatch(r"sha256:[0-9a-f]{64}", told) is not None)


def _verified(files: Mapping[str, Path], directory: Path, rebuilt: Rebuilt) -> Verified:
    result = rebuilt.result
    paths = [*files.values(), directory / MANIFEST]
    return Verified(
        eval_run_id=result.eval_run_id,
        scope=result.scope,
        calls=len(rebuilt.calls),
        episodes=0 if rebuilt.episodes is None else len(rebuilt.episodes),
        candidates=tuple(
            CheckedCandidate(
                alias=one.candidate.alias,
                tasks=one.aggregate.task_count,
                successful_tasks=one.aggregate.successful_tasks,
                aggregate_hash=one.aggregate.aggregate_hash,
            )
            for one in result.candidates
        ),
        files={path.name: sha256_file(path) for path in paths},
    )
