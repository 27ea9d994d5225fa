"""Everything is made again of the records, and nothing that was changed gets by."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bfcl.digest import sha256_file
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.verify import UNCHECKED, verify_evaluation
from bfcl.evaluate.drive.tool_trace_cache import FORM as EPISODES
from bfcl.modelio.recorded_chat import FORM as CALLS
from bfcl.tables.task_results import read_task_results, write_task_results
from tests.evaluate.after.finishing import DEPARTURES, Data, Evaluated
from tests.evaluate.after.forging import edit_json, forge, restate
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]
RESTORE = (
    "\n  fix: restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
)


def told(directory: Path) -> list[str]:
    return [str(problem).replace(f"{directory}/", "") for problem in refused(lambda: verify_evaluation(directory))]


def test_verify_makes_every_result_of_a_trace_again(evaluated: Evaluated) -> None:
    found = verify_evaluation(evaluated.trace).to_json()
    report = json.loads((evaluated.trace / "eval_report.json").read_bytes())
    assert found["status"] == "pass"
    assert found["not_checked"] == list(UNCHECKED)
    assert found["candidates"] == [
        {
            "alias": one["alias"],
            "tasks": one["task_count"],
            "successful_tasks": one["successful_tasks"],
            "aggregate_hash": one["aggregate_hash"],
        }
        for one in report["candidates"]
    ]
    assert found["files"] == {
        name: sha256_file(evaluated.trace / name)
        for name in (
            "candidate_io_cache.jsonl",
            "eval_breakdowns.json",
            "eval_report.json",
            "eval_task_results.parquet",
            "eval_manifest.json",
        )
    }


def test_verify_drives_executed_episodes_again_whatever_became_of_them(evaluated: Evaluated) -> None:
    found = verify_evaluation(evaluated.executable)
    assert found.scope == "trace_and_executable"
    assert found.episodes == len(DEPARTURES) * found.candidates[0].tasks
    rows = read_task_results(evaluated.executable / "eval_task_results.parquet")
    assert {row["episode_status"] for row in rows} >= {
        "completed",
        "candidate_mismatch",
        "unusable_tool_call_ids",
        "candidate_call_failed",
        "confirmation_not_earned",
    }


def test_verify_makes_repeated_trials_again(evaluated: Evaluated) -> None:
    found = verify_evaluation(evaluated.repeated)
    assert found.calls == sum(
        len(json.loads(line)["request_hash"]) > 0
        for line in (evaluated.repeated / "candidate_io_cache.jsonl").read_bytes().splitlines()
        if json.loads(line)["record_type"] == "completion"
    )


def test_verify_imports_no_module_of_the_pack(evaluated: Evaluated) -> None:
    before = set(sys.modules)
    verify_evaluation(evaluated.executable)
    loaded = [sys.modules[name] for name in set(sys.modules) - before]
    pack = str(evaluated.site.pack)
    assert [one for one in loaded if str(getattr(one, "__file__", "")).startswith(pack)] == []


def test_verify_writes_nothing(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.executable)
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.iterdir()}
    verify_evaluation(directory)
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.iterdir()} == before


def test_verify_finds_a_source_that_was_moved(evaluated: Evaluated, copied: Copied, tmp_path: Path) -> None:
    directory = copied(evaluated.executable)
    run, pack = tmp_path / "moved" / "run", tmp_path / "moved" / "pack"
    shutil.copytree(evaluated.site.run_dir, run)
    shutil.copytree(evaluated.site.pack, pack)

    def lose(document: Data) -> None:
        paths = document["resolved_paths"]
        for name in paths:
            paths[name] = None if paths[name] is None else paths[name].replace(str(evaluated.site.root), "/nowhere")

    edit_json(directory / "resolved_eval_config.json", lose)
    assert told(directory) == [
        "/nowhere/run/run_manifest.json: eval_artifact_invalid: is gone; expected the manifest of the published run\n"
        "  fix: name the directory of the published run with --run-dir, or restore it"
    ]
    found = verify_evaluation(directory, Whereabouts(run_dir=run, pack=pack))
    assert found.eval_run_id == "run-executable"


def test_verify_names_the_first_difference_of_a_changed_report(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)

    def better(report: Data) -> None:
        report["candidates"][2]["successful_tasks"] += 1

    edit_json(directory / "eval_report.json", better)
    seen = [one["successful_tasks"] for one in json.loads((directory / "eval_report.json").read_bytes())["candidates"]]
    expected = [
        f"eval_report.json: eval_artifact_invalid: candidates[2].successful_tasks is {seen[2]}; the records give "
        f"{seen[2] - 1}{RESTORE}"
    ]
    assert told(directory) == expected
    restate(directory)
    assert told(directory) == expected


def test_verify_refuses_a_report_in_other_bytes(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    path = directory / "eval_report.json"
    path.write_bytes(path.read_bytes() + b"\n")
    restate(directory)
    assert told(directory) == [
        f"eval_report.json: eval_artifact_invalid: says what the records give, but not in the same bytes{RESTORE}"
    ]


def test_verify_names_the_first_row_that_was_changed(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    path = directory / "eval_task_results.parquet"
    rows = read_task_results(path)
    place = next(place for place, row in enumerate(rows) if not row["task_success"])
    rows[place]["task_success"] = True
    write_task_results(path, rows)
    restate(directory)
    assert told(directory) == [
        f"eval_task_results.parquet: eval_artifact_invalid: row {place} ({rows[place]['candidate_alias']}, "
        f"{rows[place]['task_id']}), task_success is true; the records give false{RESTORE}"
    ]


def test_verify_refuses_a_manifest_that_says_more_than_the_records(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    edit_json(directory / "eval_manifest.json", lambda manifest: manifest.update(publication_allowed=False))
    assert told(directory) == [
        f"eval_manifest.json: eval_artifact_invalid: publication_allowed is false; the records give true{RESTORE}"
    ]


def test_verify_refuses_a_damaged_record_at_its_line(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    path = directory / "candidate_io_cache.jsonl"
    path.write_bytes(
        path.read_bytes().replace(b'"latency_s":', b'"latency_s": ', 1).replace(b"tool_calls", b"tool_calln", 1)
    )
    restate(directory)
    (problem, *_) = refused(lambda: verify_evaluation(directory))
    assert problem.code == "eval_candidate_cache_invalid"
    assert problem.line is not None
    assert problem.message == "`record_hash` is not that of the record"


def test_verify_names_digest_and_line_of_a_record_that_the_manifest_does_not_vouch_for(
    evaluated: Evaluated, copied: Copied
) -> None:
    directory = copied(evaluated.executable)
    path = directory / "tool_trace_cache.jsonl"
    before = sha256_file(path)
    path.write_bytes(path.read_bytes().replace(b'"status":"completed"', b'"status":"compleded"', 1))
    assert told(directory)[0] == (
        f"tool_trace_cache.jsonl: eval_artifact_invalid: has {sha256_file(path)}; the manifest says {before}{RESTORE}"
    )
    assert [problem.code for problem in refused(lambda: verify_evaluation(directory))][1:] == [
        "eval_tool_trace_cache_invalid"
    ]
    assert "tool_trace_cache.jsonl:" in told(directory)[1]


def test_verify_refuses_calls_that_no_score_is_made_of(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)
    path = directory / "candidate_io_cache.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    # The last call of an episode that ended well: without it the episode ends as its time was up.
    path.write_bytes(b"".join(lines[:-3]))
    restate(directory)
    problems = told(directory)
    assert problems
    assert all("eval_artifact_invalid" in problem for problem in problems)
    assert any("the records give" in problem for problem in problems)


def test_verify_refuses_an_answer_that_was_forged_and_signed_anew(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.executable)

    def forged(payload: Data) -> bool:
        for turn in payload.get("turns", ()):
            if payload["candidate_alias"] == "lower" and turn["matches"] and not turn["advanced"]:
                turn["matches"][0].update(arguments_match=True, differing=[])
                return True
        return False

    forge(directory / "tool_trace_cache.jsonl", EPISODES, forged)
    restate(directory)
    (problem,) = refused(lambda: verify_evaluation(directory))
    assert problem.code == "eval_tool_trace_cache_invalid"
    assert "turns[0].matches[0].arguments_match" in problem.message
    assert problem.message.endswith("driven again over the same answers it gives false")
    assert "holds true at" in problem.message


def test_verify_refuses_a_forged_result_that_the_candidate_was_not_shown(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.executable)

    def forged(payload: Data) -> bool:
        if payload.get("candidate_alias") != "gold" or len(payload.get("turns", ())) < 2:
            return False
        executions = payload["turns"][0]["executions"]
        if executions:
            executions[0]["result"] = '{"forged":true}'
        return bool(executions)

    forge(directory / "tool_trace_cache.jsonl", EPISODES, forged)
    restate(directory)
    (problem,) = refused(lambda: verify_evaluation(directory))
    # What follows is asked with another prompt then, and nothing is on record of it.
    assert problem.code == "eval_tool_trace_cache_invalid"
    assert "driven again over the same answers it gives" in problem.message


def test_verify_refuses_an_attempt_that_was_forged_and_signed_anew(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.trace)

    def forged(payload: Data) -> bool:
        if "latency_s" not in payload:
            return False
        payload["latency_s"] += 1
        return True

    forge(directory / "candidate_io_cache.jsonl", CALLS, forged)
    restate(directory)
    problems: tuple[Any, ...] = refused(lambda: verify_evaluation(directory))
    assert {problem.code for problem in problems} == {"eval_candidate_cache_invalid"}
    assert {problem.message for problem in problems} == {"the completion is not what follows from its attempts"}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda document: document["payload"]["limits"].update(max_turns=3),
            "`eval_config_hash` is HASH, its payload has OTHER",
        ),
        (lambda document: document.pop("payload"), "holds neither `payload` nor `resolved_paths`"),
    ],
)
def test_verify_refuses_a_configuration_that_was_changed(
    evaluated: Evaluated, copied: Copied, edit: Callable[[Data], object], message: str
) -> None:
    directory = copied(evaluated.trace)
    path = directory / "resolved_eval_config.json"
    original = json.loads(path.read_bytes())
    edit_json(path, lambda document: (edit(document), None)[1])
    (problem,) = told(directory)
    now: Mapping[str, Any] = json.loads(path.read_bytes())
    if "OTHER" in message:
        from bfcl.digest import sha256_json

        message = message.replace("HASH", original["eval_config_hash"])
        message = message.replace("OTHER", sha256_json(now["payload"]))
    assert problem == f"resolved_eval_config.json: eval_artifact_invalid: {message}{RESTORE}"
