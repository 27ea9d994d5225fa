"""The command line as a whole: list, help, version, laziness."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from bfcl.cli import main
from bfcl.cli.main import COMMANDS, cli
from tests.cli import runs

REPOSITORY = Path(__file__).resolve().parents[2]

HELP = """\
Usage: bfcl [OPTIONS] COMMAND [ARGS]...

  Build verified function-calling benchmarks from executable oracle packs.

  Benchmarks are built with doit (`doit list`, `doit generate`); these
  commands start a project and explain what was built.

  Example:
    bfcl init my_project
    cd my_project && doit generate

Options:
  --version   Print the version.
  -h, --help  Show this message and exit.

Commands:
  init          Write a new project: a starter pack, its configuration, a
                dodo.py.
  trace         Follow one task through every stage, to where it was dropped
                and why.
  build-report  Say what the last doit run computed and reused.
  verify        Hash a published run again and compare it with its manifest.
"""


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command(bfcl: Callable[..., object], flag: str) -> None:
    assert bfcl(flag) == (0, HELP, "")


def test_no_arguments_print_the_help_as_a_usage_error(bfcl: Callable[..., object]) -> None:
    assert bfcl() == (2, "", HELP)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_help_opens_with_its_summary_and_shows_an_example(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help is not None
    assert command.help.partition("\n")[0] == COMMANDS[name].summary
    assert "Example:\n  " in command.help
    assert any(line.split()[:2] == ["bfcl", name] for line in command.help.splitlines())


def test_unknown_command_is_a_usage_error_naming_the_closest(bfcl: Callable[..., object]) -> None:
    message = "Usage: bfcl [OPTIONS] COMMAND [ARGS]...\nTry 'bfcl --help' for help.\n\nError: no such command `trase`"
    assert bfcl("trase") == (2, "", f"{message}; did you mean `trace`?\n")


def test_unknown_command_without_a_close_one_names_none(bfcl: Callable[..., object]) -> None:
    message = "Usage: bfcl [OPTIONS] COMMAND [ARGS]...\nTry 'bfcl --help' for help.\n\nError: no such command `xyz`"
    assert bfcl("xyz") == (2, "", f"{message}\n")


def test_version_prints_the_installed_distribution(
    bfcl: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"bfcl-build": "7.8.9"}.__getitem__)
    assert bfcl("--version") == (0, "bfcl-build 7.8.9\n", "")


def test_version_says_so_where_nothing_is_installed(
    bfcl: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "DISTRIBUTION", "bfcl-no-such-distribution")
    assert bfcl("--version") == (0, "bfcl-no-such-distribution (source tree, not installed)\n", "")


def test_help_imports_no_subcommand_and_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from bfcl.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "heavy = {'pyarrow', 'jsonschema', 'rich', 'httpx', 'yaml', 'doit', 'bfcl.graph', 'bfcl.cli.trace'}\n"
        "print('loaded:', sorted(heavy & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_text_that_the_terminal_cannot_encode_is_spelt_out(tmp_path: Path) -> None:
    run = runs.good_run(tmp_path / "run", 1).root
    command = [sys.executable, "-m", "bfcl", "trace", "1", "--run", str(run)]
    environment = {**os.environ, "PYTHONIOENCODING": "iso8859-7"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY, env=environment)
    assert "Check V-1, then set it to 1 b\\xe4r.\n" in done.stdout


def test_python_dash_m_is_the_console_script() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bfcl", "--help"], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout == HELP
