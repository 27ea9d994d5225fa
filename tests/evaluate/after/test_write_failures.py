"""Failed tasks of a finished evaluation, written for people."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bfcl.evaluate.after.verify import verify_evaluation
from bfcl.evaluate.after.write_failures import write_failures
from bfcl.tables.task_results import read_task_results
from tests.evaluate.after.finishing import Evaluated


def test_write_failures_tells_every_failed_task_of_every_candidate(evaluated: Evaluated, tmp_path: Path) -> None:
    written = write_failures(evaluated.executable, output=tmp_path)
    rows = read_task_results(evaluated.executable / "eval_task_results.parquet")
    for alias, files in written.items():
        failed = [row for row in rows if row["candidate_alias"] == alias and not row["task_success"]]
        lines = [json.loads(line) for line in files.lines.read_bytes().splitlines()]
        assert [line["task_id"] for line in lines] == [row["task_id"] for row in failed]
        assert files.failures == len(failed)
        assert [line["episode_status"] for line in lines] == [row["episode_status"] for row in failed]
        assert [line["reason_code"] for line in lines] == [
            next(one["code"] for one in row["failure_records"] if one["layer"] == "gate") for row in failed
        ]
        assert files.page.read_text().startswith(f"# Failed tasks of `{alias}`\n\n{len(failed)} of 10 tasks failed.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{alias}.{suffix}" for alias in written for suffix in ("md", "jsonl")
    )


def test_write_failures_shows_the_prompt_and_how_near_it_was(evaluated: Evaluated, tmp_path: Path) -> None:
    written = write_failures(evaluated.executable, output=tmp_path)
    lines = [json.loads(line) for line in written["lower"].lines.read_bytes().splitlines()]
    assert {line["near_miss"] for line in lines if line["first_failing_gate"] == "arguments"} == {"case_or_space_only"}
    assert all(line["conversation"][-1]["role"] in ("user", "tool") for line in lines)


def test_write_failures_holds_states_to_the_one_that_the_expected_calls_leave(
    evaluated: Evaluated, tmp_path: Path
) -> None:
    written = write_failures(evaluated.executable, output=tmp_path)
    lines = [json.loads(line) for line in written["mute"].lines.read_bytes().splitlines()]
    assert {line["state_difference"]["reference"] for line in lines} == {"the expected calls"}
    paths = {line["template_id"]: [one["path"] for one in line["state_difference"]["differences"]] for line in lines}
    assert paths["kiln_status"] == []
    assert "next_firing" in paths["start_confirmed"]
    trace = write_failures(evaluated.trace, output=tmp_path / "trace")
    line = json.loads(trace["mute"].lines.read_bytes().splitlines()[0])
    assert line["state_difference"] is None


def test_write_failures_goes_into_the_directory_and_leaves_the_result_as_it_was(
    evaluated: Evaluated, tmp_path: Path
) -> None:
    directory = tmp_path / "trace"
    shutil.copytree(evaluated.trace, directory)
    one = write_failures(directory)
    before = one["mute"].page.read_bytes()
    assert one["mute"].page == directory / "eval_failures" / "mute.md"
    assert write_failures(directory)["mute"].page.read_bytes() == before
    assert verify_evaluation(directory).eval_run_id == "run-trace"


def test_write_failures_tells_the_first_of_several_trials(evaluated: Evaluated, tmp_path: Path) -> None:
    written = write_failures(evaluated.repeated, output=tmp_path)
    assert {alias: one.failures for alias, one in written.items()} == {"gold": 0, "unsteady": 0}
    assert written["unsteady"].page.read_text() == (
        "# Failed tasks of `unsteady`\n\n"
        "0 of 10 tasks failed in the first of 3 trials, the only one that this page tells of.\n"
    )
