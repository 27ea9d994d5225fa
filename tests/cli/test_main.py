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
from tests.cli.conftest import Ended

REPOSITORY = Path(__file__).resolve().parents[2]

HELP = """\
Usage: bfcl [OPTIONS] COMMAND [ARGS]...

  Build verified function-calling benchmarks from executable oracle packs.

  Benchmarks are built with doit (`doit list`, `doit validate`, `doit
  generate`); these commands start a project, help to write packs and explain
  what was built.

  Example:
    bfcl init my_project
    cd my_project && doit generate

Options:
  --version   Print the version.
  -h, --help  Show this message and exit.

Start:
  init                            Write a new project: a starter pack, its
                                  configuration, a dodo.py.
  scaffold-oracle-pack            Write a small pack that is Gold at once.
  new                             Write a template, case, assertion or tool
                                  that fits a pack.
  import                          Make tools.json or fixtures.json from what
                                  you already have.

Check a pack:
  check                           Check a pack's files without running its
                                  code.
  validate-oracle-pack            Run every check on a pack and print its
                                  report.
  explain                         Explain a code: its cause, its fix, an
                                  example.
  schema                          List and export the JSON Schemas of every
                                  file people write.

Look at a pack:
  preview                         Show conversations a pack's templates make,
                                  with their outcome.
  call                            Call one tool of a pack in its worker and
                                  show what changed.
  coverage                        Show what a pack's probes, templates and
                                  bindings cover.
  probe-assertions                Find assertions that no wrong trace makes
                                  fail.
  diff                            Compare two packs, file by file and item by
                                  item.

Source packages:
  scaffold-source-package         Write a backend skeleton from a tool
                                  catalog.
  check-source-package            Check a source package without running it.

Look at what was built:
  trace                           Follow one task through every stage, to
                                  where it was dropped and why.
  build-report                    Say what the last doit run computed and
                                  reused.
  gc                              Remove stored results that nothing names any
                                  more.
  report                          Make one HTML page of a published run.
  verify                          Hash a published run again and compare it
                                  with its manifest.

Evaluate models:
  eval                            Measure candidate models on a published
                                  benchmark.
  serve-candidate                 Serve scripted answers to a published run.
  resolve-bfcl-model-identity     Find the identity block of a candidate.
  eval-verify                     Make every score, aggregate and report of an
                                  evaluation again and compare.
  eval-report                     Make one HTML page of finished evaluations.
  eval-failures                   Write every failed task of an evaluation so
                                  that a person sees why.
  eval-compare                    Compare two candidates that were measured
                                  alike, task by task.
  eval-leaderboard                Rank the candidates of finished evaluations
                                  by task success.
  extract-bfcl-eval-measurements  Derive success, tokens and latency of a
                                  finished evaluation.
"""


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command(bfcl: Callable[..., object], flag: str) -> None:
    assert bfcl(flag) == (0, HELP, "")


def test_no_arguments_print_the_help_as_a_usage_error(bfcl: Callable[..., object]) -> None:
    assert bfcl() == (1, "", HELP)


def leaves() -> list[tuple[str, ...]]:
    """The words of every command that does something, groups followed down."""
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        inner = command.commands if isinstance(command, click.Group) else {}
        found += [(name, one) for one in inner] or [(name,)]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_command_help_opens_with_its_summary(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help is not None
    assert command.help.partition("\n")[0] == COMMANDS[name].summary


@pytest.mark.parametrize("words", leaves(), ids=" ".join)
def test_command_help_shows_an_example_of_itself(bfcl: Callable[..., Ended], words: tuple[str, ...]) -> None:
    status, out, _ = bfcl(*words, "--help")
    assert status == 0
    assert "Example:\n" in out
    assert any(line.split()[: len(words) + 1] == ["bfcl", *words] for line in out.splitlines())


def test_unknown_command_is_a_usage_error_naming_the_closest(bfcl: Callable[..., object]) -> None:
    message = "Usage: bfcl [OPTIONS] COMMAND [ARGS]...\nTry 'bfcl --help' for help.\n\nError: no such command `trase`"
    assert bfcl("trase") == (1, "", f"{message}; did you mean `trace`?\n")


def test_unknown_command_without_a_close_one_names_none(bfcl: Callable[..., object]) -> None:
    message = "Usage: bfcl [OPTIONS] COMMAND [ARGS]...\nTry 'bfcl --help' for help.\n\nError: no such command `xyz`"
    assert bfcl("xyz") == (1, "", f"{message}\n")


def test_command_of_doit_is_a_usage_error_naming_doit(bfcl: Callable[..., object]) -> None:
    message = (
        "Usage: bfcl [OPTIONS] COMMAND [ARGS]...\nTry 'bfcl --help' for help.\n\nError: no such command `validate`"
    )
    assert bfcl("validate") == (1, "", f"{message}; run `doit validate`\n")


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
    command = [sys.executable, "-m", "bfcl", "trace", "1", "--run", str(run), "--format", "text"]
    environment = {**os.environ, "PYTHONIOENCODING": "iso8859-7"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY, env=environment)
    assert "Check V-1, then set it to 1 b\\xe4r.\n" in done.stdout


def test_python_dash_m_is_the_console_script() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bfcl", "--help"], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout == HELP
