"""Where do the failed tasks of a finished evaluation stand for people to read? In `eval_failures/`. Rule: §16.3."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.canonical import canonical_json
from bfcl.errors import Problem
from bfcl.evaluate.after.expected_states import REFERENCE, expected_states
from bfcl.evaluate.after.failures import Failure, failure_json
from bfcl.evaluate.after.failures_page import code, failures_page
from bfcl.evaluate.after.finished import open_finished
from bfcl.evaluate.after.last_attempts import with_last_attempts
from bfcl.evaluate.after.rebuild import rebuild
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.after.seen import FirstTrial, SeenEpisode, failed_by_some, failures_of
from bfcl.evaluate.after.write_once import ELSEWHERE, write_once
from bfcl.evaluate.records import Script
from bfcl.evaluate.score.episode import score_episode

DIRECTORY: Final = "eval_failures"


class FailureFiles(NamedTuple):
    """The two files of one candidate."""

    page: Path
    lines: Path
    failures: int
    states_refused: Problem | None
    """Why final states of this candidate are not held to those of the expected calls, as the pack could not be run."""


def write_failures(
    directory: Path, whereabouts: Whereabouts | None = None, *, output: Path | None = None
) -> dict[str, FailureFiles]:
    """Write `<alias>.md` and `<alias>.jsonl` for every candidate; returns the files by alias.

    Of the first trial. The evidence is made again of the records, so nothing is told that does not hold. Final states
    are held to the one that the expected calls leave, else to that of a candidate that passed. `output` is
    `eval_failures` in the directory unless given.
    Raises: EvalError as `open_finished` and `rebuild`, and `eval_cli_artifact_conflict` where other files are there,
    and nothing is written; StageError `storage_failed`.
    """
    finished = open_finished(directory)
    settings = recorded_settings(directory, whereabouts)
    first = FirstTrial(failed_by_some(finished))
    rebuilt = rebuild(
        directory,
        whereabouts,
        seen=lambda script, evidence: first.see(
            SeenEpisode(script, evidence, score_episode(script, evidence, settings.scoring))
        ),
    )
    failed = {alias: first.failed(alias, rebuilt.result.rows) for alias in finished.aliases}
    states = expected_states(rebuilt.result, _with_state(failed))
    passed = {**first.passed, **{task_id: (REFERENCE, state) for task_id, state in states.by_task.items()}}
    target = directory / DIRECTORY if output is None else output
    written: dict[str, FailureFiles] = {}
    contents: dict[Path, bytes] = {}
    for measured in finished.candidates:
        told = failures_of(failed[measured.alias], settings.scoring, passed, rebuilt.calls)
        failures = list(with_last_attempts(told, rebuilt.calls))
        alias = measured.alias
        refused = states.refused if any(map(_has_state, failures)) else None
        one = FailureFiles(target / f"{alias}.md", target / f"{alias}.jsonl", len(failures), refused)
        page = failures_page(alias, failures, tasks=measured.task_count, trials=settings.repeats.trials)
        contents[one.page] = page.encode() + _remark(refused)
        contents[one.lines] = b"".join(_line(failure, refused) for failure in failures)
        written[alias] = one
    write_once(contents, fix=ELSEWHERE)
    return written


def _with_state(failed: Mapping[str, list[SeenEpisode]]) -> list[Script]:
    """Scripts of the tasks whose final state somebody reached, each once."""
    scripts = {
        one.script.task_id: one.script for several in failed.values() for one in several if one.evidence.final_state
    }
    return list(scripts.values())


def _has_state(failure: Failure) -> bool:
    return failure.episode.evidence.final_state is not None


def _remark(refused: Problem | None) -> bytes:
    """The end of a page. By code alone: messages may hold paths of this machine."""
    if refused is None:
        return b""
    return f"\nNo final state is held to that of the expected calls: {code(refused.code)}.\n".encode()


def _line(failure: Failure, refused: Problem | None) -> bytes:
    reason = refused.code if refused is not None and _has_state(failure) else None
    return canonical_json({**failure_json(failure), "expected_state_refused": reason}) + b"\n"
