"""Commands about evaluations end in the published statuses, for their command line, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.cli.eval_command import EvalCommand
from bfcl.cli.main import cli
from tests.evaluate.arena import Ended

Evaluates = Callable[..., Ended]

COMMANDS = ("eval", "eval-compare", "eval-failures", "eval-leaderboard", "eval-report", "eval-verify")


@pytest.mark.parametrize("command", COMMANDS)
def test_usage_error_is_told_as_a_refused_declaration(bfcl: Evaluates, command: str) -> None:
    ended = bfcl(command, "--xyzzy")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (f"eval_cli_invalid: No such option '--xyzzy'.\n  fix: run `bfcl {command} --help`\n")


@pytest.mark.parametrize("command", ["eval-verify", "eval-failures"])
def test_refusal_of_a_command_ends_in_the_status_of_its_code(bfcl: Evaluates, project: Path, command: str) -> None:
    (project / "empty").mkdir()
    ended = bfcl(command, "empty")
    assert ended.status == 7
    assert ": eval_artifact_invalid: is not there: " in ended.err


def test_other_commands_keep_the_statuses_of_their_refusals(bfcl: Evaluates) -> None:
    ended = bfcl("verify", "--xyzzy")
    assert ended.status == 1
    assert "Error: No such option '--xyzzy'.\n" in ended.err


def test_every_command_of_that_kind_is_listed_here() -> None:
    context = cli.make_context("bfcl", ["--help"], resilient_parsing=True)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    assert {name for name, command in commands.items() if isinstance(command, EvalCommand)} == set(COMMANDS)
