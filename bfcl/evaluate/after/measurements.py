"""What did one candidate cost in tokens and time, and how often did it succeed? Rule: evaluation.md §12.

Tokens and milliseconds as recorded; money is never made up. Reads only, and says which bytes it read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

from bfcl.canonical import Json, readable_json
from bfcl.digest import sha256_json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.after.failures_page import code
from bfcl.evaluate.after.finished import Finished, Measured, open_finished
from bfcl.evaluate.after.write_once import write_once
from bfcl.evaluate.artifacts.names import CANDIDATE_CACHE, REPORT
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.modelio.exchange import ChatOutcome
from bfcl.pack.layout import shown
from bfcl.tables.task_results import TASK_RESULTS_FILE

REFUSED: Final = "measurements_refused"
SCHEMA_VERSION: Final = "1.0"

_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_READ: Final = ("eval_report", "eval_task_results", "candidate_io_cache")
_AGAIN: Final = "evaluate anew into another directory; nothing is measured of a result that does not hold"
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Calls:
    """What the record of calls adds up to."""

    input_tokens: int
    output_tokens: int
    latencies_ms: tuple[float, ...]
    """Of the attempt that each completed call was answered by, ascending."""
    not_completed: Mapping[str, int]
    """Calls without a reply to measure, by status."""


def measurements(run_id: str, directory: Path) -> dict[str, Json]:
    """The content of `eval_measurements_<run_id>.json`.

    Raises: EvalError `eval_artifact_invalid` for a directory that is no finished evaluation, `measurements_refused`
    for an unusable id, more than one candidate, a result without table or record, a repeated task, a success that the
    table does not give, and a completed call without whole-numbered usage or latency.
    """
    if not _RUN_ID.fullmatch(run_id):
        message = f"is {run_id!r}; expected up to 128 of letters, digits, `.`, `_` and `-`: files are named by it"
        raise EvalError(_refusal("--run-id", message, "give an id that a file can be named by"))
    finished = open_finished(directory)
    measured = _only(finished)
    raise_all(EvalError, list(_result_problems(finished, measured)))
    calls = _calls(directory)
    document: dict[str, Json] = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "eval_run_id": finished.eval_run_id,
        "eval_scope": measured.scope,
        "candidate": {"alias": measured.alias, "canonical_id": measured.canonical_id},
        "measurements": {
            "task_success_rate": {
                "numerator": measured.successful_tasks,
                "denominator": measured.task_count,
                "value": measured.successful_tasks / measured.task_count,
            },
            "input_tokens": calls.input_tokens,
            "output_tokens": calls.output_tokens,
            "latency_p50_ms": nearest_rank(calls.latencies_ms, 50),
            "latency_p95_ms": nearest_rank(calls.latencies_ms, 95),
        },
        "latency_context": {
            "environment_dependent": True,
            "calls": len(calls.latencies_ms),
            "calls_not_completed": dict(calls.not_completed),
        },
        "failure_codes": _failure_codes(measured),
        "files": {
            name: {"file": finished.committed.files[name].name, "content_hash": finished.digest(name)} for name in _READ
        },
    }
    return {**document, "report_hash": sha256_json(document)}


def write_measurements(document: Mapping[str, Json], output: Path) -> tuple[Path, Path]:
    """Write the JSON and the Markdown file; equal ones that are there stay.

    Raises: EvalError `measurements_refused` where another report is there, and nothing is written; StageError
    `storage_failed`.
    """
    stem = f"eval_measurements_{document['run_id']}"
    contents = {
        output / f"{stem}.json": readable_json(document),
        output / f"{stem}.md": _page(document).encode(),
    }
    write_once(contents, fix="choose another --run-id or --output-dir", code=REFUSED)
    first, second = contents
    return first, second


def nearest_rank(ascending: Sequence[float], percent: int) -> float | None:
    """The smallest value that at least `percent` per cent of all are not above; None of nothing."""
    return ascending[max(0, ceil(len(ascending) * percent / 100) - 1)] if ascending else None


def _only(finished: Finished) -> Measured:
    if len(finished.candidates) == 1:
        return finished.candidates[0]
    message = f"holds {len(finished.candidates)} candidates ({', '.join(finished.aliases)}); expected one"
    raise EvalError(_refusal(shown(finished.directory), message, "evaluate each candidate into its own directory"))


def _result_problems(finished: Finished, measured: Measured) -> Iterator[Problem]:
    path = finished.directory
    for name, file in zip(_READ, (REPORT, TASK_RESULTS_FILE, CANDIDATE_CACHE), strict=True):
        if name not in finished.committed.files:
            fix = "evaluate with every flag of `outputs` true"
            yield _refusal(shown(path / file), "is not there; expected it to be measured", fix)
    rows = measured.results or ()
    for task_id, count in Counter(row["task_id"] for row in rows).items():
        if count > 1:
            yield _refusal(shown(path / TASK_RESULTS_FILE), f"holds {task_id} {count} times; expected once", _AGAIN)
    told = measured.metrics.get("task_success_rate")
    numerator, denominator = (
        (told.get("numerator"), told.get("denominator")) if isinstance(told, Mapping) else (None, None)
    )
    seen = (sum(row["task_success"] for row in rows), len(rows))
    if rows and (numerator, denominator) != seen:
        message = (
            f"tells {numerator} successes of {denominator} tasks, {TASK_RESULTS_FILE} gives {seen[0]} of {seen[1]}"
        )
        yield _refusal(shown(path / REPORT), message, _AGAIN)


def _calls(directory: Path) -> _Calls:
    """Raises: EvalError of a damaged record, `measurements_refused` of a completed call without usage or latency."""
    inputs = outputs = 0
    latencies: list[float] = []
    others: Counter[str] = Counter()
    problems: list[Problem] = []
    for exchange in CandidateCache(directory / CANDIDATE_CACHE).exchanges():
        outcome = exchange.outcome
        if outcome.response is None:
            others[outcome.status] += 1
            continue
        tokens = _tokens(outcome)
        latency_s = outcome.attempts[outcome.response.selected_attempt].latency_s
        if tokens is None or latency_s < 0:
            message = f"{exchange.request.request_id} has no whole-numbered prompt and completion tokens, or no latency"
            fix = "evaluate with a provider that tells usage; nothing is estimated"
            problems.append(_refusal(shown(directory / CANDIDATE_CACHE), message, fix))
            continue
        inputs += tokens[0]
        outputs += tokens[1]
        latencies.append(round(latency_s * 1000, 3))
    raise_all(EvalError, problems[:_SHOWN])
    return _Calls(
        input_tokens=inputs,
        output_tokens=outputs,
        latencies_ms=tuple(sorted(latencies)),
        not_completed=dict(sorted(others.items())),
    )


def _tokens(outcome: ChatOutcome) -> tuple[int, int] | None:
    """Prompt and completion tokens that the provider counted; None without both."""
    if outcome.response is None:
        return None
    prompt, completion = outcome.response.tokens
    return None if prompt is None or completion is None else (prompt, completion)


def _failure_codes(measured: Measured) -> dict[str, Json]:
    """Tasks by failure code; a task counts once for each of its codes."""
    counted = Counter(name for row in measured.results or () for name in set(row["failure_codes"]))
    return dict(sorted(counted.items()))


def _refusal(subject: str, message: str, fix: str) -> Problem:
    return Problem(code=REFUSED, subject=subject, message=message, fix=fix)


def _page(document: Mapping[str, Json]) -> str:
    candidate, told, failures = (document[name] for name in ("candidate", "measurements", "failure_codes"))
    assert isinstance(candidate, Mapping)
    assert isinstance(told, Mapping)
    assert isinstance(failures, Mapping)
    rate = told["task_success_rate"]
    assert isinstance(rate, Mapping)
    about = ", ".join(
        code(str(name)) for name in (document["run_id"], document["eval_run_id"], candidate["canonical_id"])
    )
    lines = [
        f"# Measurements of {code(str(candidate['alias']))}",
        "",
        f"Run, evaluation and model: {about}.",
        "",
        "| measurement | value |",
        "|---|---:|",
        f"| task_success_rate | {rate['numerator']} of {rate['denominator']} |",
        *(
            f"| {name} | {'none' if value is None else value} |"
            for name, value in told.items()
            if name != "task_success_rate"
        ),
        "",
        "Latency depends on the environment it was measured in.",
        "",
    ]
    if failures:
        lines += ["| failure code | tasks |", "|---|---:|", *(f"| {name} | {n} |" for name, n in failures.items()), ""]
    return "\n".join([*lines, f"report_hash: {document['report_hash']}", ""])
