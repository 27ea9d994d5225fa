"""Directories become what the page shows, made again of their records."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.errors import EvalError
from bfcl.evaluate.after.compare import compare
from bfcl.evaluate.after.sides import side_of
from bfcl.evaluate.after.write_failures import write_failures
from bfcl.evaluate.page.comparison import comparisons
from bfcl.evaluate.page.gather import gather
from bfcl.evaluate.page.rates import headline
from bfcl.evaluate.run.unanswered import Cause
from bfcl.tables.task_results import read_task_results
from tests.evaluate.after.finishing import evaluated_once


def test_gathered_candidates_are_those_of_report_and_table(finished: Path) -> None:
    (evaluation,) = gather([finished]).evaluations
    assert evaluation.name == "out"
    assert [one.measured.alias for one in evaluation.entrants] == ["gold", "lower"]
    rows = read_task_results(finished / "eval_task_results.parquet")
    for one in evaluation.entrants:
        own = [row for row in rows if row["candidate_alias"] == one.measured.alias]
        assert list(one.measured.results or ()) == own
        assert [score.task_success for score in one.scores] == [row["task_success"] for row in own]
        assert {tries.trials for tries in one.tries.values()} == {3}
        assert one.repeated is not None
        assert one.usage.calls == one.usage.replies > 0


def test_page_and_breakdowns_tell_the_same_intervals(finished: Path) -> None:
    told = json.loads((finished / "eval_breakdowns.json").read_bytes())["candidates"]
    for one, overall in zip(gather([finished]).labelled(), (each["overall"] for each in told), strict=True):
        found = headline(one)
        assert found.clustered.to_json() == overall["clustered_by_template_id"]
        assert found.shares.all.interval is not None
        assert found.shares.all.interval.to_json() == overall["interval"]


def test_page_and_failure_files_tell_the_same_failures(finished: Path, tmp_path: Path) -> None:
    written = write_failures(finished, output=tmp_path)
    for one in gather([finished]).evaluations[0].entrants:
        failures = list(one.failures)
        lines = [json.loads(line) for line in written[one.measured.alias].lines.read_text().splitlines()]
        assert [failure.episode.evidence.task_id for failure in failures] == [line["task_id"] for line in lines]
        assert [failure.near_miss for failure in failures] == [line["near_miss"] for line in lines]
        assert [failure.conversation for failure in failures] == [line["conversation"] for line in lines]
        assert [failure.state is None for failure in failures] == [line["state_difference"] is None for line in lines]
    assert written["lower"].failures > 0


def test_page_and_comparison_tell_the_same_difference(finished: Path) -> None:
    (made,) = comparisons(gather([finished]).labelled()).made
    told = compare(side_of(f"{finished}:gold"), side_of(f"{finished}:lower"))
    assert told["table"] == made.tally.to_json()
    assert told["mcnemar_exact_p"] == made.tally.p_value
    difference = told["difference"]
    assert isinstance(difference, dict)
    assert difference["value"] == made.difference
    assert difference["clustered_by_template_id"] == made.interval.to_json()


def test_directories_of_one_name_are_told_apart_by_their_paths(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / finished.name
    shutil.copytree(finished, copy)
    assert [one.name for one in gather([finished, copy]).evaluations] == [str(finished), str(copy)]


def test_results_that_the_records_do_not_give_are_refused(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "forged"
    shutil.copytree(finished, copy)
    (copy / "eval_task_results.parquet").unlink()
    report, manifest = (json.loads((copy / f"eval_{name}.json").read_bytes()) for name in ("report", "manifest"))
    report["candidates"][1]["successful_tasks"] = report["candidates"][1]["task_count"]
    forged = "sha256:" + "f" * 64
    report["candidates"][1]["aggregate_hash"] = manifest["candidate_aggregates"]["lower"] = forged
    (copy / "eval_report.json").write_bytes(readable_json(report))
    del manifest["artifacts"]["eval_task_results"]
    manifest["artifacts"]["eval_report"]["content_hash"] = sha256_file(copy / "eval_report.json")
    (copy / "eval_manifest.json").write_bytes(readable_json(manifest))
    with pytest.raises(EvalError) as refused:
        gather([copy])
    (problem,) = refused.value.problems
    assert str(problem) == (
        f"{copy}/eval_report.json: eval_artifact_invalid: tells other results of lower than the records give; "
        "`bfcl eval-verify` says where they part\n"
        "  fix: restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
    )


def test_directory_that_is_no_finished_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvalError) as refused:
        gather([tmp_path])
    (problem,) = refused.value.problems
    assert problem.code == "eval_artifact_invalid"
    assert problem.message == "is not there: a directory without it is no finished evaluation"


def test_stopped_tasks_are_put_down_to_what_the_record_says_of_their_last_call(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    trace = evaluated_once(tmp_path_factory.getbasetemp()).trace
    stops = {one.measured.alias: one.stops for one in gather([trace]).evaluations[0].entrants}
    refused = Cause("HTTP 503 Service Unavailable", "answered", 503)
    assert stops == {"gold": {}, "lower": {}, "mute": {}, "gone": {refused: 10}}
