"""What does a finished evaluation say? Read once its files are known to be those that were committed. Rule: §11."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.artifacts.committed import Committed, verify_committed
from bfcl.evaluate.artifacts.names import CANDIDATE_CACHE, HELD_OUT_FILE, MANIFEST, REPORT, TOOL_TRACE_CACHE
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.records import Scope
from bfcl.evaluate.settings.resolved import FILE as RESOLVED
from bfcl.evaluate.source.reports import recorded_refusal
from bfcl.stages.artifacts import MANIFEST_FILE
from bfcl.tables.task_results import TaskResultRow, read_task_results

_SHOWN: Final = 5
"""How many evaluations a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One candidate of a finished evaluation."""

    alias: str
    canonical_id: str
    scope: Scope
    task_count: int
    successful_tasks: int
    non_candidate_stops: int
    metrics: Mapping[str, Json]
    """As the report has them, by name."""
    aggregate_hash: str
    results: tuple[TaskResultRow, ...] | None
    """Of the first trial, in publication order; None where the configuration leaves the table out."""

    @property
    def task_ids(self) -> tuple[str, ...]:
        """In publication order. Raises: ValueError without a table."""
        if self.results is None:
            raise ValueError("no table of task results")
        return tuple(row["task_id"] for row in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A committed directory, every file of it hashed again."""

    committed: Committed
    report: Mapping[str, Json]
    candidates: tuple[Measured, ...]
    """By alias."""

    @property
    def directory(self) -> Path:
        return self.committed.directory

    @property
    def manifest(self) -> Mapping[str, Json]:
        """`eval_manifest.json`."""
        return self.committed.manifest

    @property
    def eval_run_id(self) -> str:
        return str(self.manifest["eval_run_id"])

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(one.alias for one in self.candidates)

    def digest(self, name: str) -> Digest | None:
        """The content hash of a file by its name in the manifest, or None where there is no such file."""
        artifacts = self.manifest["artifacts"]
        entry = artifacts.get(name) if isinstance(artifacts, Mapping) else None
        return Digest(str(entry["content_hash"])) if isinstance(entry, Mapping) else None

    def measured(self, alias: str) -> Measured:
        """Raises: KeyError for a candidate that is not in it."""
        for one in self.candidates:
            if one.alias == alias:
                return one
        raise KeyError(alias)


def open_finished(directory: Path) -> Finished:
    """Read a finished evaluation.

    Raises: EvalError `eval_artifact_invalid` for a directory without a manifest, with everything that is absent or not
    as the manifest says, and for a report that does not fit manifest and table.
    """
    require_finished(directory)
    committed = verify_committed(directory)
    path = directory / REPORT
    report = read_document(path)
    if report is None or "eval_report" not in committed.files:
        raise EvalError(unusable(directory / MANIFEST, "names no report"))
    table = committed.files.get("eval_task_results")
    rows = None if table is None else read_task_results(table)
    try:
        finished = Finished(committed=committed, report=report, candidates=tuple(_candidates(report, rows)))
        problems = list(_problems(finished))
    except (KeyError, TypeError, AttributeError):
        raise EvalError(unusable(path, "lacks a field of a report, or holds one of another type")) from None
    if problems:
        raise EvalError(problems)
    return finished


def require_finished(directory: Path) -> None:
    """Tell a directory that nothing can be read of for what it is.

    Raises: EvalError `eval_artifact_invalid` where there is no manifest.
    """
    path = directory / MANIFEST
    if os.path.lexists(path):
        return
    if (directory / MANIFEST_FILE).is_file():
        message = f"is not there: the directory holds a generation run ({MANIFEST_FILE}), and no evaluation"
        fix = "verify it with `bfcl verify`, or name the output directory of an evaluation of it"
    elif (directory / REPORT).is_file() or (directory / HELD_OUT_FILE).is_file():
        message = "is not there: the evaluation was told to leave it out, or was stopped at its very end"
        fix = "name the directory as `--resume-from` of a new run with `outputs.write_eval_manifest: true`"
    elif (refusal := recorded_refusal(directory)) is not None:
        message = f"is not there: {refusal}"
        fix = "mend what it says there, and run the evaluation again; nothing is on record here"
    elif any((directory / name).is_file() for name in (CANDIDATE_CACHE, TOOL_TRACE_CACHE, RESOLVED)):
        message = "is not there: the evaluation was interrupted, and holds no result yet"
        fix = "name the directory as `--resume-from` of a new run: what is on record is not asked again"
    else:
        message, fix = _no_evaluation(directory)
    raise EvalError(dataclasses.replace(unusable(path, message), fix=fix))


def _no_evaluation(directory: Path) -> tuple[str, str]:
    """What to say of a directory that no evaluation wrote to, and what to do."""
    found = sorted(one.parent.name for one in directory.glob(f"*/{MANIFEST}"))
    if found:
        listed = ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        return f"is not there: the directory holds {len(found)} evaluations ({listed})", "name one of them"
    fix = "name the output directory of a finished evaluation"
    if not directory.is_dir():
        return "is not there: there is no such directory", fix
    return "is not there: a directory without it is no finished evaluation", fix


def _candidates(report: Mapping[str, Json], rows: list[TaskResultRow] | None) -> Iterator[Measured]:
    entries = report["candidates"]
    if not isinstance(entries, list | tuple):
        raise TypeError
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise TypeError
        alias, metrics, scope = str(entry["alias"]), entry["metrics"], entry["scope"]
        counts = [entry[name] for name in ("task_count", "successful_tasks", "non_candidate_stops")]
        if not isinstance(metrics, Mapping) or scope not in ("trace", "trace_and_executable"):
            raise TypeError
        tasks, successes, stops = (count if type(count) is int else -1 for count in counts)
        if min(tasks, successes, stops) < 0:
            raise TypeError
        yield Measured(
            alias=alias,
            canonical_id=str(entry["canonical_id"]),
            scope="trace" if scope == "trace" else "trace_and_executable",
            task_count=tasks,
            successful_tasks=successes,
            non_candidate_stops=stops,
            metrics=metrics,
            aggregate_hash=str(entry["aggregate_hash"]),
            results=None if rows is None else tuple(row for row in rows if row["candidate_alias"] == alias),
        )


def _problems(finished: Finished) -> Iterator[Problem]:
    """Where report, manifest and table contradict each other."""
    path = finished.directory / REPORT
    for name in ("eval_run_id", "eval_config_hash", "plan_identity", "comparison_set", "publication_allowed"):
        if finished.report[name] != finished.manifest[name]:
            yield unusable(path, f"`{name}` is not that of {MANIFEST}")
    aggregates = {one.alias: one.aggregate_hash for one in finished.candidates}
    if aggregates != finished.manifest["candidate_aggregates"]:
        yield unusable(path, f"its aggregates are not those of {MANIFEST}")
    for one in finished.candidates:
        if one.results is None:
            continue
        seen = (
            len(one.results),
            sum(row["task_success"] for row in one.results),
            sum(row["non_candidate_stop"] for row in one.results),
        )
        told = (one.task_count, one.successful_tasks, one.non_candidate_stops)
        if seen != told:
            message = (
                f"tells {told[0]} tasks, {told[1]} successful and {told[2]} stopped of {one.alias}; "
                f"its table of results gives {seen[0]}, {seen[1]} and {seen[2]}"
            )
            yield unusable(path, message)
