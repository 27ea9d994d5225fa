"""A finished evaluation is read once its files hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_file
from bfcl.evaluate.after.finished import open_finished
from bfcl.evaluate.after.rebuild import rebuild
from bfcl.evaluate.after.verify import verify_evaluation
from tests.evaluate.after.finishing import Data, Evaluated
from tests.evaluate.after.forging import edit_json, restate
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]
Edit = Callable[[Path], None]
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


RUN = "the directory holds a generation run (run_manifest.json), and no evaluation"
NAME = "name the output directory of a finished evaluation"
INTERRUPTED = "the evaluation was interrupted, and holds no result yet"
RESUME = "name the directory as `--resume-from` of a new run: what is on record is not asked again"


def interrupted(*files: str) -> Edit:
    def edit(directory: Path) -> None:
        for path in list(directory.iterdir()):
            if path.name not in files:
                path.unlink()

    return edit


def refused_by(file: str, content: str) -> Edit:
    """What a run leaves that a gate refused."""

    def edit(directory: Path) -> None:
        interrupted("resolved_eval_config.json")(directory)
        (directory / file).write_text(content)

    return edit


FAILURES = '{"failures": [{"code": "eval_b"}, {"code": "eval_a"}, {"code": "eval_b"}]}'
BEFORE = "the evaluation was refused before anybody was asked"
MEND = "mend what it says there, and run the evaluation again; nothing is on record here"


def left_out(directory: Path) -> None:
    (directory / "eval_manifest.json").unlink()


def replaced_by_a_run(directory: Path) -> None:
    interrupted()(directory)
    (directory / "run_manifest.json").write_text("{}")


def holding(count: int) -> Edit:
    def edit(directory: Path) -> None:
        interrupted()(directory)
        for number in range(count):
            (directory / f"mine-{number}").mkdir()
            (directory / f"mine-{number}" / "eval_manifest.json").write_text("{}")

    return edit


@pytest.mark.parametrize(
    ("edit", "what", "fix"),
    [
        (replaced_by_a_run, RUN, "verify it with `bfcl verify`, or name the output directory of an evaluation of it"),
        (
            left_out,
            "the evaluation was told to leave it out, or was stopped at its very end",
            "name the directory as `--resume-from` of a new run with `outputs.write_eval_manifest: true`",
        ),
        (interrupted("candidate_io_cache.jsonl"), INTERRUPTED, RESUME),
        (interrupted("resolved_eval_config.json"), INTERRUPTED, RESUME),
        (
            refused_by("source_verification_failure.json", FAILURES),
            f"{BEFORE}: eval_b, eval_a, see source_verification_failure.json",
            MEND,
        ),
        (
            refused_by("contamination_failure.json", FAILURES),
            f"{BEFORE}: eval_b, eval_a, see contamination_failure.json",
            MEND,
        ),
        (
            refused_by("contamination_failure.json", "{"),
            f"{BEFORE}: the file cannot be read, see contamination_failure.json",
            MEND,
        ),
        (holding(2), "the directory holds 2 evaluations (mine-0, mine-1)", "name one of them"),
        (
            holding(6),
            "the directory holds 6 evaluations (mine-0, mine-1, mine-2, mine-3, mine-4, ...)",
            "name one of them",
        ),
        (interrupted(), "a directory without it is no finished evaluation", NAME),
        (shutil.rmtree, "there is no such directory", NAME),
    ],
)
@pytest.mark.parametrize("read", [open_finished, verify_evaluation, rebuild])
def test_reader_of_a_directory_without_a_manifest_says_what_it_is(
    read: Callable[[Path], object], edit: Edit, what: str, fix: str, evaluated: Evaluated, copied: Copied
) -> None:
    directory = copied(evaluated.trace)
    edit(directory)
    (problem,) = refused(lambda: read(directory))
    assert str(problem) == f"{directory}/eval_manifest.json: eval_artifact_invalid: is not there: {what}\n  fix: {fix}"


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
