"""Do the records of a finished evaluation give every score, aggregate and report again? Rule: evaluation.md §16.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from bfcl.canonical import Json, readable_json
from bfcl.digest import Digest, sha256_file
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.after.rebuild import Rebuilt, rebuild
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.artifacts.committed import Committed, verify_committed
from bfcl.evaluate.artifacts.manifest import ORIGIN, eval_manifest
from bfcl.evaluate.artifacts.names import (
    ARTIFACTS,
    BREAKDOWNS,
    CACHES,
    CANDIDATE_CACHE,
    MANIFEST,
    REPORT,
    TOOL_TRACE_CACHE,
)
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.artifacts.report import eval_report
from bfcl.evaluate.artifacts.result import Result
from bfcl.evaluate.drive.tool_trace_cache import ToolTraceCache
from bfcl.evaluate.score.breakdowns import breakdowns, kinds_of
from bfcl.evaluate.score.result_rows import result_row
from bfcl.evaluate.source.reports import CONTAMINATION_REPORT, VERIFICATION_REPORT
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.stages.divergence import first_difference
from bfcl.tables.task_results import TASK_RESULTS_FILE, TaskResultRow, read_task_results

UNCHECKED: Final = (
    "whether each provider really answered as recorded: nobody was asked again",
    "whether the oracle would answer as recorded: none of its code was run",
    "times of the two source reports, which every run writes anew",
)
"""What no audit of files can tell."""


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
    yield from _document_difference(directory / REPORT, eval_report(result))
    yield from _document_difference(directory / BREAKDOWNS, breakdowns(scores, kinds))
    if result.settings.outputs.write_task_results:
        rows = [result_row(score, one.candidate.canonical_id) for one in result.candidates for score in one.scores]
        yield from _table_difference(directory / TASK_RESULTS_FILE, rows)
    identities: dict[str, tuple[str, Json]] = {
        VERIFICATION_REPORT: ("verification_identity", result.verified.verification_identity),
        CONTAMINATION_REPORT: ("plan_identity", result.plan.plan_identity),
    }
    for name, (field, wanted) in identities.items():
        document = read_document(directory / name)
        if document is not None and document.get(field) != wanted:
            yield _differs(directory / name, field, str(document.get(field)), str(wanted))


def _document_difference(path: Path, wanted: Mapping[str, Json]) -> Iterator[Problem]:
    seen = read_document(path)
    if seen is None:
        yield unusable(path, "is gone; expected what the records give")
        return
    parted = first_difference(seen, wanted)
    if parted is not None:
        yield _differs(path, parted.path, parted.left, parted.right)
    elif path.read_bytes() != readable_json(wanted):
        yield unusable(path, "says what the records give, but not in the same bytes")


def _table_difference(path: Path, wanted: list[TaskResultRow]) -> Iterator[Problem]:
    seen = read_task_results(path)
    for number, (row, other) in enumerate(zip(seen, wanted, strict=False)):
        parted = first_difference(cast("Json", row), cast("Json", other))
        if parted is not None:
            where = f"row {number} ({other['candidate_alias']}, {other['task_id']}), {parted.path}"
            yield _differs(path, where, parted.left, parted.right)
            return
    if len(seen) != len(wanted):
        yield unusable(path, f"holds {len(seen)} rows; the records give {len(wanted)}")


def _differs(path: Path, where: str, seen: str, wanted: str) -> Problem:
    return unusable(path, f"{where} is {seen}; the records give {wanted}")


def _check_manifest(directory: Path, result: Result) -> None:
    """The manifest last: it repeats what all others say. Raises: EvalError `eval_artifact_invalid`."""
    path = directory / MANIFEST
    seen = read_document(path)
    assert seen is not None
    artifacts = seen["artifacts"]
    assert isinstance(artifacts, Mapping)
    hashes = {name: sha256_file(directory / ARTIFACTS[name]) for name in artifacts}
    runtime, resumed_from = (seen.get(name) for name in ORIGIN)
    wanted = eval_manifest(result, hashes, runtime=runtime, resumed_from=resumed_from)
    raise_all(EvalError, list(_document_difference(path, wanted)))


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
