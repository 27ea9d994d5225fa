from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bfcl.canonical import Json, readable_json
from bfcl.evaluate.run.directory import Before, look, recorded_files, report_file
from bfcl.evaluate.run.how import How
from bfcl.evaluate.settings.model import EvalSettings
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import loaded

HOW = How(now=lambda: datetime(2026, 3, 2, 9, 0, 5, tzinfo=UTC), fresh=lambda: "ab" * 16)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalSettings:
    monkeypatch.chdir(tmp_path)
    return loaded(tmp_path)


def leave(settings: EvalSettings, name: str, content: Json = None) -> None:
    settings.outputs.output_dir.mkdir(exist_ok=True)
    data = b"" if content is None else readable_json(content)
    (settings.outputs.output_dir / name).write_bytes(data)


def leave_result(settings: EvalSettings, **edits: Json) -> None:
    report = {"eval_run_id": "R", "eval_config_hash": settings.eval_config_hash, **edits}
    leave(settings, "eval_report.json", report)
    for name in ("candidate_io_cache.jsonl", "tool_trace_cache.jsonl"):
        leave(settings, name)


def told(settings: EvalSettings, how: How = HOW) -> list[str]:
    return [str(problem) for problem in refused(lambda: look(settings, how))]


def test_new_run_gets_an_id_of_its_time_and_chance(settings: EvalSettings) -> None:
    assert look(settings, HOW) == Before(
        eval_run_id=f"bfcl-eval-20260302T090005Z-{'ab' * 16}", concluded=False, manifest=None
    )


def test_id_that_is_given_is_used_as_it_is(settings: EvalSettings) -> None:
    assert look(settings, replace(HOW, eval_run_id="mine 1")).eval_run_id == "mine 1"


@pytest.mark.parametrize("given", ["", " ", " mine", "mine\n", "a\tb"])
def test_blank_or_padded_id_is_refused(settings: EvalSettings, given: str) -> None:
    assert told(settings, replace(HOW, eval_run_id=given)) == [
        f"eval_runner_invalid: eval_run_id: the run id {given!r} is blank, padded or holds control "
        "characters; expected it as it is to be reused\n"
        "  fix: give the id without blanks around it, or leave it out"
    ]


def test_id_of_a_report_with_the_same_configuration_is_reused(settings: EvalSettings) -> None:
    leave_result(settings)
    assert look(settings, HOW) == Before(eval_run_id="R", concluded=True, manifest=None)


def test_report_of_another_configuration_and_run_that_no_manifest_makes_a_result_is_refused_with_both(
    settings: EvalSettings,
) -> None:
    leave_result(settings, eval_config_hash="sha256:0")
    assert told(settings, replace(HOW, eval_run_id="S")) == [
        f"out/eval_report.json: eval_runner_invalid: is of the configuration sha256:0; this one is "
        f"{settings.eval_config_hash}\n"
        "  fix: name another `outputs.output_dir`; `{eval_config_hash}` in it keeps measurements apart",
        "out/eval_report.json: eval_runner_invalid: is of the run R; expected S\n"
        "  fix: leave the run id out, or name another directory",
    ]


def test_what_a_run_left_unfinished_is_refused(settings: EvalSettings) -> None:
    leave(settings, "candidate_io_cache.jsonl")
    assert told(settings) == [
        "out: eval_cli_artifact_conflict: holds candidate_io_cache.jsonl of a run that did not end; "
        "expected a new directory, as nothing is mended\n"
        "  fix: name another `outputs.output_dir`, and this directory as `resume_from`: what was answered is taken over"
    ]


def test_reports_of_gates_are_no_unfinished_run(settings: EvalSettings) -> None:
    for name in ("resolved_eval_config.json", "source_verification_failure.json"):
        leave(settings, name)
    assert not look(settings, HOW).concluded


def test_finished_run_without_its_report_is_refused(settings: EvalSettings) -> None:
    leave(settings, "eval_manifest.json", {"eval_config_hash": settings.eval_config_hash})
    assert told(settings)[0].startswith(
        "out/eval_report.json: eval_artifact_invalid: is gone, and the manifest speaks of it\n"
    )


def test_result_whose_records_are_kept_nowhere_is_asked_for_again(settings: EvalSettings) -> None:
    leave_result(settings)
    off = replace(settings.outputs, cache_candidate_responses=False)
    assert look(replace(settings, outputs=off), HOW).concluded is False


def test_report_of_private_tasks_alone_is_the_report(settings: EvalSettings) -> None:
    alone = replace(settings, modes=("held_out_eval",))
    assert report_file(alone) == "held_out_eval_report.json"
    assert report_file(replace(settings, modes=("trace", "held_out_eval"))) == "eval_report.json"
    leave(alone, "held_out_eval_report.json", {"eval_run_id": "R", "eval_config_hash": alone.eval_config_hash})
    off = replace(alone.outputs, cache_candidate_responses=False, cache_tool_results=False)
    assert look(replace(alone, outputs=off), HOW) == Before(eval_run_id="R", concluded=False, manifest=None)


def test_caches_that_are_kept_follow_from_modes_and_switches(settings: EvalSettings) -> None:
    assert recorded_files(settings) == ("candidate_io_cache", "tool_trace_cache")
    assert recorded_files(replace(settings, modes=("trace",))) == ("candidate_io_cache",)
    off = replace(settings.outputs, cache_candidate_responses=False)
    assert recorded_files(replace(settings, outputs=off)) == ("tool_trace_cache",)


OTHER_RESULT = (
    "out/eval_manifest.json: eval_cli_artifact_conflict: is the result of the configuration sha256:0; this one is {}\n"
    "  fix: name another `outputs.output_dir`; `{{eval_config_hash}}` in it keeps measurements apart"
)


@pytest.mark.parametrize("reported", [True, False])
def test_finished_result_of_another_configuration_is_a_conflict_told_once(
    settings: EvalSettings, reported: bool
) -> None:
    leave(settings, "eval_manifest.json", {"eval_config_hash": "sha256:0"})
    if reported:
        leave_result(settings, eval_config_hash="sha256:0")
    assert told(settings) == [OTHER_RESULT.format(settings.eval_config_hash)]


def test_finished_result_of_another_configuration_and_run_is_refused_for_both(settings: EvalSettings) -> None:
    leave(settings, "eval_manifest.json", {"eval_config_hash": "sha256:0"})
    leave_result(settings, eval_config_hash="sha256:0")
    assert told(settings, replace(HOW, eval_run_id="S")) == [
        OTHER_RESULT.format(settings.eval_config_hash),
        "out/eval_report.json: eval_runner_invalid: is of the run R; expected S\n"
        "  fix: leave the run id out, or name another directory",
    ]


def test_report_that_its_own_manifest_contradicts_is_refused(settings: EvalSettings) -> None:
    leave(settings, "eval_manifest.json", {"eval_config_hash": settings.eval_config_hash})
    leave_result(settings, eval_config_hash="sha256:0")
    assert told(settings) == [
        f"out/eval_report.json: eval_runner_invalid: is of the configuration sha256:0; this one is "
        f"{settings.eval_config_hash}\n"
        "  fix: name another `outputs.output_dir`; `{eval_config_hash}` in it keeps measurements apart"
    ]
