from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.digest import sha256_file
from bfcl.evaluate.artifacts.commit import Origin, Written, commit
from bfcl.evaluate.artifacts.committed import verify_committed
from bfcl.evaluate.artifacts.result import Result
from bfcl.tables.task_results import TASK_RESULTS_FILE, read_task_results
from tests.evaluate.measuring import measured, result_of, right
from tests.evaluate.refusals import refused

ORIGIN = Origin(runtime={"python": "3"}, resumed_from=None, earlier=None)
FILES = ["eval_breakdowns.json", "eval_manifest.json", "eval_report.json", TASK_RESULTS_FILE]


@pytest.fixture
def result(tmp_path: Path) -> Result:
    one, _, _ = measured(tmp_path, right, trials=None)
    return result_of(tmp_path, one)


def test_everything_is_written_and_the_manifest_vouches_for_it(result: Result) -> None:
    out = result.settings.outputs.output_dir
    assert commit(result, (), ORIGIN) == Written(
        report=out / "eval_report.json", task_results=out / TASK_RESULTS_FILE, manifest=out / "eval_manifest.json"
    )
    assert sorted(path.name for path in out.iterdir()) == FILES
    committed = verify_committed(out)
    assert sorted(committed.files) == ["eval_breakdowns", "eval_report", "eval_task_results"]
    assert committed.manifest["runtime"] == {"python": "3"}
    assert committed.manifest["candidate_aggregates"] == {"small": result.candidates[0].aggregate.aggregate_hash}
    rows = read_task_results(out / TASK_RESULTS_FILE)
    assert [(row["task_id"], row["task_success"]) for row in rows] == [("one", True), ("two", True)]


def test_same_result_leaves_every_byte_and_the_earlier_origin(result: Result) -> None:
    commit(result, (), ORIGIN)
    out = result.settings.outputs.output_dir
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    earlier = json.loads(before["eval_manifest.json"])
    commit(result, (), Origin(runtime={"python": "4"}, resumed_from={}, earlier=earlier))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def link(path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


@pytest.mark.parametrize("damage", [append, link])
@pytest.mark.parametrize("file", ["eval_breakdowns.json", "eval_report.json", "eval_manifest.json"])
def test_document_that_says_something_else_is_refused(
    result: Result, file: str, damage: Callable[[Path], None]
) -> None:
    commit(result, (), ORIGIN)
    path = result.settings.outputs.output_dir / file
    damage(path)
    (problem,) = refused(lambda: commit(result, (), ORIGIN))
    assert (problem.code, problem.path) == ("eval_artifact_invalid", str(path))
    assert problem.message == "is not what these answers give; expected the same to the last byte"


def test_table_with_other_rows_is_refused(result: Result) -> None:
    commit(result, (), ORIGIN)
    (one,) = result.candidates
    renamed = replace(one, candidate=replace(one.candidate, canonical_id="hub:other@x"))
    for file in FILES[:3]:
        (result.settings.outputs.output_dir / file).unlink()
    (problem,) = refused(lambda: commit(replace(result, candidates=(renamed,)), (), ORIGIN))
    assert problem.message == "holds other rows than these answers give"


def test_aggregate_that_is_not_of_its_scores_is_refused_before_anything_is_written(result: Result) -> None:
    (one,) = result.candidates
    wrong = replace(one, aggregate=replace(one.aggregate, successful_tasks=1))
    (problem,) = refused(lambda: commit(replace(result, candidates=(wrong,)), (), ORIGIN))
    assert problem.message == "the aggregate of small is not that of its scores"
    assert not result.settings.outputs.output_dir.exists()


def test_record_that_should_have_been_kept_and_is_absent_is_refused(result: Result) -> None:
    (problem,) = refused(lambda: commit(result, ("candidate_io_cache",), ORIGIN))
    assert problem.message == "is no regular file; expected what this run wrote or kept"
    assert not (result.settings.outputs.output_dir / "eval_manifest.json").exists()


def test_files_that_are_switched_off_are_left_out(result: Result) -> None:
    outputs = replace(result.settings.outputs, write_task_results=False, write_eval_manifest=False)
    bare = replace(result, settings=replace(result.settings, outputs=outputs))
    written = commit(bare, (), ORIGIN)
    assert (written.task_results, written.manifest) == (None, None)
    assert sorted(path.name for path in outputs.output_dir.iterdir()) == ["eval_breakdowns.json", "eval_report.json"]
    assert sha256_file(written.report).startswith("sha256:")
