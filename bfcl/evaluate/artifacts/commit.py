"""In which order does a run write its results, and what if they are there already? Rule: evaluation.md §11.

The manifest comes last. A file that is there already has to say the same to the last byte, the table to the last row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bfcl.canonical import Json, readable_json
from bfcl.digest import Digest, sha256_file
from bfcl.errors import EvalError
from bfcl.evaluate.artifacts.manifest import ORIGIN, eval_manifest
from bfcl.evaluate.artifacts.names import ARTIFACTS, BREAKDOWNS, MANIFEST, REPORT
from bfcl.evaluate.artifacts.reading import unusable
from bfcl.evaluate.artifacts.report import eval_report
from bfcl.evaluate.artifacts.result import Result
from bfcl.evaluate.score.aggregate import aggregate
from bfcl.evaluate.score.breakdowns import breakdowns, kinds_of
from bfcl.evaluate.score.result_rows import result_row
from bfcl.files import write_atomic
from bfcl.tables.task_results import TASK_RESULTS_FILE, TaskResultRow, same_rows, write_task_results


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The files that people are pointed to."""

    report: Path
    task_results: Path | None
    manifest: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the manifest tells of the run that asked. An earlier manifest's own word stands."""

    runtime: Json
    resumed_from: Json
    earlier: Mapping[str, Json] | None

    def told(self) -> tuple[Json, Json]:
        """(runtime, resumed_from)."""
        if self.earlier is None:
            return self.runtime, self.resumed_from
        runtime, resumed_from = (self.earlier.get(name) for name in ORIGIN)
        return runtime, resumed_from


def commit(result: Result, caches: Sequence[str], origin: Origin) -> Written:
    """Write every result of a run; `caches` are the records that it kept, by name.

    Raises: EvalError `eval_artifact_invalid` where something else lies there already or a record is absent,
    `eval_trace_aggregation_invalid` and `eval_executable_aggregation_invalid` where an aggregate is not that of its
    scores; StageError `storage_failed`.
    """
    _check_aggregates(result)
    outputs = result.settings.outputs
    directory = outputs.output_dir
    table = directory / TASK_RESULTS_FILE if outputs.write_task_results else None
    _write(directory / BREAKDOWNS, readable_json(_breakdowns(result)))
    if table is not None:
        _write_table(table, _rows(result))
    _write(directory / REPORT, readable_json(eval_report(result)))
    manifest = directory / MANIFEST if outputs.write_eval_manifest else None
    if manifest is not None:
        names = ["eval_report", "eval_breakdowns", *(["eval_task_results"] if table is not None else []), *caches]
        runtime, resumed_from = origin.told()
        hashes = _hashes(directory, names)
        _write(manifest, readable_json(eval_manifest(result, hashes, runtime=runtime, resumed_from=resumed_from)))
    return Written(report=directory / REPORT, task_results=table, manifest=manifest)


def _check_aggregates(result: Result) -> None:
    for one in result.candidates:
        again = aggregate(
            one.scores,
            tasks=result.plan.tasks_of(one.candidate.alias),
            scope=result.scope,
            identities=result.identities,
        )
        if again != one.aggregate:
            message = f"the aggregate of {one.candidate.alias} is not that of its scores"
            raise EvalError(unusable(result.settings.outputs.output_dir / REPORT, message))


def _breakdowns(result: Result) -> Json:
    scores = {one.candidate.alias: one.scores for one in result.candidates}
    return breakdowns(scores, {task_id: kinds_of(row) for task_id, row in result.rows.items()})


def _rows(result: Result) -> list[TaskResultRow]:
    return [result_row(score, one.candidate.canonical_id) for one in result.candidates for score in one.scores]


def _write(path: Path, data: bytes) -> None:
    if not os.path.lexists(path):
        write_atomic(path, data)
    elif path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        raise EvalError(unusable(path, "is not what these answers give; expected the same to the last byte"))


def _write_table(path: Path, rows: Sequence[TaskResultRow]) -> None:
    if not os.path.lexists(path):
        write_task_results(path, rows)
    elif path.is_symlink() or not same_rows(path, rows):
        raise EvalError(unusable(path, "holds other rows than these answers give"))


def _hashes(directory: Path, names: Sequence[str]) -> dict[str, Digest]:
    paths = {name: directory / ARTIFACTS[name] for name in names}
    gone = [
        unusable(path, "is no regular file; expected what this run wrote or kept")
        for path in paths.values()
        if path.is_symlink() or not path.is_file()
    ]
    if gone:
        raise EvalError(gone)
    return {name: sha256_file(path) for name, path in paths.items()}
