from __future__ import annotations

import json
from pathlib import Path

import pytest

from bfcl.cli.main import cli
from bfcl.cli.show import run
from bfcl.errors import EvalError, Problem
from bfcl.graph.eval_files import EvalFiles
from bfcl.graph.evaluation import eval_current_lines, eval_files, eval_is_current, failure_line, run_eval
from bfcl.graph.invocation import invocation
from bfcl.graph.opening import Opening
from bfcl.graph.tasks import pipeline
from tests.evaluate.settings.builder import put, write_evaluation


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_evaluation(tmp_path)
    (tmp_path / "configs" / "run.yaml").write_text("eval_config_path: eval.yaml\n")
    (tmp_path / "run" / "benchmark_raw.parquet").write_bytes(b"")
    return tmp_path


def names(project: Path, files: list[str]) -> list[str]:
    return [Path(file).relative_to(project).as_posix() for file in files]


def opening(project: Path, **given: str) -> Opening:
    return Opening(invocation(project, project, {"config": "configs/run.yaml", **given}))


def test_evaluation_depends_on_envelope_configuration_contract_release_and_pack(project: Path) -> None:
    found = eval_files(project / "configs" / "run.yaml")
    pack = [path.relative_to(project).as_posix() for path in sorted((project / "pack").rglob("*")) if path.is_file()]
    assert names(project, found.inputs) == [
        "configs/run.yaml",
        "configs/eval.yaml",
        "configs/contract.json",
        "run/run_manifest.json",
        "run/benchmark.parquet",
        "run/benchmark_raw.parquet",
        *pack,
    ]
    assert names(project, found.targets) == ["out/eval_manifest.json"]


def test_trace_run_depends_on_no_file_of_the_pack(project: Path) -> None:
    write_evaluation(project, put(("eval", "mode"), ["trace"]))
    assert not [name for name in names(project, eval_files(project / "configs" / "run.yaml").inputs) if "pack" in name]


def test_run_without_a_manifest_has_no_target_and_is_never_up_to_date(project: Path) -> None:
    write_evaluation(project, put(("outputs", "write_eval_manifest"), False), put(("publication", "requested"), False))
    assert eval_files(project / "configs" / "run.yaml").targets == []
    assert not eval_is_current([])


def test_what_cannot_be_loaded_has_no_files(project: Path) -> None:
    write_evaluation(project, put(("limits", "max_turns"), 0))
    assert eval_files(project / "configs" / "run.yaml") == EvalFiles([], [])
    assert eval_files(project / "configs" / "absent.yaml") == EvalFiles([], [])


def test_target_that_does_not_verify_is_not_current(project: Path) -> None:
    assert not eval_is_current([str(project / "out" / "eval_manifest.json")])


@pytest.mark.parametrize("config", ["configs/run.yaml", "configs/eval.yaml"])
def test_task_has_the_files_of_the_configuration_that_is_named(project: Path, config: str) -> None:
    task = next(task for task in pipeline(opening(project, config=config)) if task["basename"] == "eval")
    found = eval_files(project / config)
    assert (task["file_dep"], task["targets"]) == (found.inputs, found.targets)
    assert "task_dep" not in task


def test_variables_of_builds_are_refused_all_at_once(project: Path) -> None:
    opened = opening(project, skip_until="render", jobs="2")
    with pytest.raises(EvalError) as refusal:
        run_eval(opened)
    assert [str(problem) for problem in refusal.value.problems] == [
        "unsupported_config_feature: jobs: `doit eval` does not take this variable: it has no stages\n"
        "  fix: leave `jobs=` out",
        "byob_stage_unsupported: skip_until: `doit eval` does not take this variable: it has no stages\n"
        "  fix: leave `skip_until=` out",
    ]
    assert opened.last_line == "eval failed: code=unsupported_config_feature exit_status=2"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "confg",
            "unsupported_config_feature: confg: `doit eval` knows no such variable\n  fix: did you mean `config`?",
        ),
        (
            "xyzzy",
            "unsupported_config_feature: xyzzy: `doit eval` knows no such variable\n"
            "  fix: leave `xyzzy=` out; it takes `config=` alone",
        ),
        (
            "resume_from",
            "unsupported_config_feature: resume_from: `doit eval` does not take this variable: it is a key of the "
            "envelope\n  fix: write `resume_from:` in the envelope that `config=` names, one with `eval_config_path:`; "
            "or run `bfcl eval --config FILE --resume-from DIR`",
        ),
        (
            "dry_run",
            "unsupported_config_feature: dry_run: `doit eval` does not take this variable: it is a key of the "
            "envelope\n  fix: write `dry_run:` in the envelope that `config=` names, one with `eval_config_path:`",
        ),
    ],
)
def test_variable_of_nobody_and_choice_of_the_envelope_are_told_apart(project: Path, name: str, told: str) -> None:
    with pytest.raises(EvalError) as refusal:
        run_eval(opening(project, **{name: "x"}))
    assert [str(problem) for problem in refusal.value.problems] == [told]


def test_misspelt_configuration_is_one_fault_and_nothing_else_is_said(project: Path) -> None:
    with pytest.raises(EvalError) as refusal:
        run_eval(Opening(invocation(project, project, {"confg": "configs/run.yaml"})))
    assert [problem.fix for problem in refusal.value.problems] == ["did you mean `config`?"]


def bare(project: Path) -> str:
    """What `doit eval` without a configuration is told."""
    opened = Opening(invocation(project, project, {}))
    with pytest.raises(EvalError) as refusal:
        run_eval(opened)
    assert opened.last_line == "eval failed: code=eval_cli_invalid exit_status=2"
    (problem,) = refusal.value.problems
    return str(problem)


UNNAMED = (
    "eval_cli_invalid: `doit eval` was not told what to evaluate; expected `config=` and an envelope or a scoring "
    "configuration\n"
)


def test_bare_command_says_what_to_give_of_what_is_there(project: Path) -> None:
    for name in ("eval.default.yaml", "eval.tiny.yaml"):
        (project / "configs" / name).touch()
    assert bare(project) == (
        f"{UNNAMED}  fix: run `doit eval config=configs/eval.tiny.yaml` or `doit eval config=configs/eval.yaml`"
    )


def test_bare_command_lists_five_configurations_at_most(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    for number in range(7):
        (tmp_path / "configs" / f"eval.{number}.yaml").touch()
    listed = " or ".join(f"`doit eval config=configs/eval.{number}.yaml`" for number in range(5))
    assert bare(tmp_path) == f"{UNNAMED}  fix: run {listed}, or with one of 2 others in configs/"


def test_bare_command_where_nothing_is_there_names_where_it_would_be(tmp_path: Path) -> None:
    assert bare(tmp_path) == f"{UNNAMED}  fix: run `doit eval config=configs/eval.cli.yaml`"


def test_finished_evaluation_is_told_by_its_rates_and_report(tmp_path: Path) -> None:
    entry = {"alias": "a", "task_count": 4, "successful_tasks": 4}
    (tmp_path / "eval_report.json").write_text(json.dumps({"candidates": [entry]}))
    assert eval_current_lines([str(tmp_path / "eval_manifest.json")]) == [
        "up to date: nothing changed since this evaluation was finished, and nobody was asked",
        "a: 4 of 4 tasks, 100.0% (51.0% to 100.0%)",
        str(tmp_path / "eval_report.json"),
    ]


def test_failure_is_told_with_the_published_status() -> None:
    error = EvalError(Problem(code="eval_contamination_unresolved", message="x", fix="y"))
    assert failure_line(error) == "eval failed: code=eval_contamination_unresolved exit_status=4"


def test_finished_result_of_another_configuration_ends_as_under_the_other_command(project: Path) -> None:
    (project / "out").mkdir()
    (project / "out" / "eval_manifest.json").write_text('{"eval_config_hash": "sha256:0"}')
    opened = opening(project)
    with pytest.raises(EvalError, match="eval_cli_artifact_conflict: is the result of the configuration sha256:0"):
        run_eval(opened)
    assert opened.last_line == "eval failed: code=eval_cli_artifact_conflict exit_status=7"
    path = str(project / "configs" / "run.yaml")
    assert run(cli, ["eval", "--config", path], terminal=True) == 7
