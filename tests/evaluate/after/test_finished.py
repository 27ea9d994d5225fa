"""A finished evaluation is read once its files hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_file
from bfcl.evaluate.after.finished import open_finished
from tests.evaluate.after.finishing import Data, Evaluated
from tests.evaluate.after.forging import edit_json, restate
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]
RESTORE = (
    "\n  fix: restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
)


def told(directory: Path) -> list[str]:
    return [str(problem).replace(f"{directory}/", "") for problem in refused(lambda: open_finished(directory))]


def test_open_finished_reads_every_candidate_with_its_results(evaluated: Evaluated) -> None:
    found = open_finished(evaluated.trace)
    report = json.loads((evaluated.trace / "eval_report.json").read_bytes())
    assert found.report == report
    assert found.aliases == ("gold", "gone", "lower", "mute")
    assert found.eval_run_id == "run-trace"
    assert found.digest("eval_report") == sha256_file(evaluated.trace / "eval_report.json")
    assert found.digest("tool_trace_cache") is None
    gone = found.measured("gone")
    assert (gone.scope, gone.canonical_id) == ("trace", f"hub:org/gone@{'ab' * 20}")
    assert (gone.task_count, gone.successful_tasks, gone.non_candidate_stops) == (10, 0, 10)
    assert gone.task_ids == tuple(row["task_id"] for row in evaluated.site.rows())
    assert gone.results is not None
    assert {row["episode_status"] for row in gone.results} == {"candidate_call_failed"}


def test_open_finished_knows_no_other_candidate(evaluated: Evaluated) -> None:
    with pytest.raises(KeyError):
        open_finished(evaluated.trace).measured("nobody")


def test_open_finished_refuses_a_directory_without_a_manifest(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    (directory / "eval_manifest.json").unlink()
    assert told(directory) == [
        "eval_manifest.json: eval_artifact_invalid: is not there: a directory without it is no finished evaluation"
        f"{RESTORE}"
    ]


def test_open_finished_refuses_every_file_that_is_not_as_committed(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    report, breakdowns = directory / "eval_report.json", directory / "eval_breakdowns.json"
    before = sha256_file(report)
    report.write_bytes(report.read_bytes() + b"\n")
    breakdowns.unlink()
    assert sorted(told(directory)) == [
        f"eval_breakdowns.json: eval_artifact_invalid: is no regular file; expected what the manifest names{RESTORE}",
        f"eval_report.json: eval_artifact_invalid: has {sha256_file(report)}; the manifest says {before}{RESTORE}",
    ]


def test_open_finished_refuses_a_report_that_its_table_contradicts(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)

    def better(report: Data) -> None:
        report["candidates"][1]["successful_tasks"] = 10

    edit_json(directory / "eval_report.json", better)
    restate(directory)
    assert told(directory) == [
        "eval_report.json: eval_artifact_invalid: tells 10 tasks, 10 successful and 10 stopped of gone; its table of "
        f"results gives 10, 0 and 10{RESTORE}"
    ]


def test_open_finished_refuses_a_report_of_another_run(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    edit_json(directory / "eval_report.json", lambda report: report.update(eval_run_id="mine"))
    restate(directory)
    assert told(directory) == [
        f"eval_report.json: eval_artifact_invalid: `eval_run_id` is not that of eval_manifest.json{RESTORE}"
    ]


def test_open_finished_refuses_a_report_that_lacks_a_field(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    edit_json(directory / "eval_report.json", lambda report: report["candidates"][0].pop("scope"))
    restate(directory)
    assert told(directory) == [
        f"eval_report.json: eval_artifact_invalid: lacks a field of a report, or holds one of another type{RESTORE}"
    ]
