"""What `bfcl eval` refuses before it looks at a benchmark; whole runs are in tests/system/test_eval.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.cli.main import cli
from bfcl.cli.show import run
from tests.evaluate.arena import Ended
from tests.evaluate.settings.builder import put, write_evaluation

Evaluates = Callable[..., Ended]


def test_absent_configuration_ends_in_the_status_of_a_declaration(bfcl: Evaluates) -> None:
    ended = bfcl("eval", "--config", "absent.yaml")
    assert ended.status == 2
    assert ended.out == ""
    assert "absent.yaml: eval_cli_invalid: " in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("eval",), "Missing option '--config'."),
        (("eval", "--config", "x", "--odd"), "No such option '--odd'."),
        (("eval", "--config", "x", "--format", "xml"), "Invalid value for '--format': 'xml' is not one of"),
        (
            ("eval", "--config", "x", "--max-infrastructure-stops", "0"),
            "Invalid value for '--max-infrastructure-stops': 0 is not in the range x>=1.",
        ),
    ],
)
def test_unusable_command_line_is_an_invalid_declaration(
    bfcl: Evaluates, arguments: tuple[str, ...], told: str
) -> None:
    ended = bfcl(*arguments)
    assert ended.status == 2
    assert ended.err.startswith(f"eval_cli_invalid: {told}")
    assert ended.err.endswith("  fix: run `bfcl eval --help`\n")


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (
            "eval/nope",
            "eval/nope is not there; expected the output directory of an earlier run\n  fix: name the "
            "`outputs.output_dir` that the earlier run wrote to, or leave `--resume-from` out\n",
        ),
        (
            "eval/mone",
            "eval/mone is not there; expected the output directory of an earlier run\n  fix: did you mean `eval/mine`? "
            "Else name the `outputs.output_dir` that the earlier run wrote to, or leave `--resume-from` out\n",
        ),
        (
            "eval/mine/file",
            "eval/mine/file is no directory; expected the output directory of an earlier run\n  fix: name the "
            "`outputs.output_dir` that the earlier run wrote to, or leave `--resume-from` out\n",
        ),
    ],
)
def test_run_to_go_on_from_that_is_no_directory_is_refused_with_its_own_advice(
    bfcl: Evaluates, project: Path, named: str, told: str
) -> None:
    (project / "eval" / "mine").mkdir(parents=True)
    (project / "eval" / "mine" / "file").touch()
    ended = bfcl("eval", "--config", "x", "--resume-from", named)
    assert (ended.status, ended.out, ended.err) == (2, "", f"eval_cli_invalid: --resume-from: {told}")


def test_every_fault_of_a_configuration_is_told_and_the_first_decides(bfcl: Evaluates, project: Path) -> None:
    path = write_evaluation(project, put(("limits", "max_turns"), 0), put(("limits", "max_retries"), True))
    ended = bfcl("eval", "--config", str(path))
    assert ended.status == 2
    assert ended.err.count(": eval_config_schema_invalid: ") == 2
    assert not (project / "out").exists()


def test_refusal_is_a_document_where_one_is_asked_for(bfcl: Evaluates, project: Path) -> None:
    path = write_evaluation(project, put(("limits", "max_turns"), 0))
    ended = bfcl("eval", "--config", str(path), "--format", "json")
    assert (ended.status, ended.out) == (2, "")
    assert json.loads(ended.err)["code"] == "eval_config_schema_invalid"


@pytest.mark.parametrize(
    ("form", "options", "as_json"),
    [
        ("human", (), False),
        ("json", (), True),
        ("human", ("--format", "json"), True),
        ("json", ("--format", "human"), False),
    ],
)
def test_refusal_is_told_in_the_form_of_the_outcome_whoever_reads_it(
    project: Path, capsys: pytest.CaptureFixture[str], form: str, options: tuple[str, ...], as_json: bool
) -> None:
    write_evaluation(project, put(("limits", "max_turns"), 0))
    envelope = project / "configs" / "run.yaml"
    envelope.write_text(f"eval_config_path: eval.yaml\noutput_format: {form}\n")
    for terminal in (True, False):
        assert run(cli, ["eval", "--config", str(envelope), *options], terminal=terminal) == 2
        assert capsys.readouterr().err.startswith("{" if as_json else "configs/eval.yaml:")


def test_refusal_that_comes_before_any_form_is_known_is_for_people(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(cli, ["eval", "--config", str(project / "absent.yaml")], terminal=False) == 2
    assert run(cli, ["eval", "--odd"], terminal=False) == 2
    assert [line.partition(": ")[0] for line in capsys.readouterr().err.splitlines()] == [
        "absent.yaml",
        "  fix",
        "eval_cli_invalid",
        "  fix",
    ]


def test_help_names_every_status(bfcl: Evaluates) -> None:
    ended = bfcl("eval", "--help")
    assert ended.status == 0
    assert "0 done, 2 edit the configuration, 3 source or run" in " ".join(ended.out.split())
