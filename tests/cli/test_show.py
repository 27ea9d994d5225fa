"""How a command ends: status and stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.cli.show import Manner, format_option, json_option, run, visible
from bfcl.errors import BfclError, ConfigError, Problem


class Unusual(BfclError):
    exit_code = 7


def _ends_with(error: BaseException) -> click.Command:
    def callback() -> None:
        raise error

    return click.Command("ends", callback=callback)


def test_success_is_status_0() -> None:
    assert run(click.Command("fine", callback=lambda: None), []) == 0


def test_refusal_prints_every_problem_and_ends_in_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [
        Problem(code="one", message="first", path="a.yaml", line=3, fix="mend it"),
        Problem(code="two", message="second", subject="x.y"),
    ]
    assert run(_ends_with(ConfigError(problems)), [], terminal=True) == 1
    assert capsys.readouterr() == ("", "a.yaml:3: one: first\n  fix: mend it\ntwo: x.y: second\n")


def test_refusal_ends_in_the_status_of_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_ends_with(Unusual(Problem(code="odd", message="so it is"))), [], terminal=True) == 7
    assert capsys.readouterr() == ("", "odd: so it is\n")


def test_refusal_spells_out_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_ends_with(ConfigError(Problem(code="c", message="a\x1b[31mb\r\x9b"))), [], terminal=True) == 1
    assert capsys.readouterr() == ("", "c: a\\x1b[31mb\\x0d\\x9b\n")


def test_command_with_statuses_of_its_own_decides_and_leaves_the_refusal_as_it_is() -> None:
    error = ConfigError(Problem(code="odd", message="so it is"))

    @click.pass_obj
    def callback(manner: Manner) -> None:
        manner.status_of = lambda refusal: 40 + len(refusal.problems)
        raise error

    assert run(click.Command("ends", callback=callback), [], terminal=True) == 41
    assert (error.exit_code, vars(error).get("exit_code")) == (1, None)


def test_usage_error_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(click.Command("fine", callback=lambda: None), ["--nope"], terminal=True) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Usage: bfcl [OPTIONS]\n")


def test_interruption_is_status_130_without_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_ends_with(KeyboardInterrupt()), [], terminal=True) == 130
    assert capsys.readouterr() == ("", "\n")


def test_our_bug_stays_a_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run(_ends_with(ZeroDivisionError()), [], terminal=True)


@pytest.mark.parametrize(
    "end", ["print('x')", "print('x' * 100_000)", "raise ConfigError(Problem(code='c', message='m'))"]
)
def test_reader_that_went_away_ends_in_status_1_without_a_word(end: str) -> None:
    code = (
        "import sys, click\n"
        "from bfcl.cli.show import run\n"
        "from bfcl.errors import ConfigError, Problem\n"
        f"def body():\n    {end}\n"
        "sys.exit(run(click.Command('loud', callback=body), []))\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    both_closed = "raise" in end
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=writer,
        stderr=writer if both_closed else subprocess.PIPE,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
        text=True,
    )
    os.close(writer)
    assert done.returncode == 1
    assert not done.stderr


@given(st.text())
def test_visible_text_steers_no_terminal_and_stays_readable(text: str) -> None:
    shown = visible(text)
    assert all(character in "\t\n" or not (ord(character) < 32 or 127 <= ord(character) < 160) for character in shown)
    assert visible(shown) == shown


FORMS = ("html", "github", "sarif")


def _asks(*more: str) -> click.Command:
    def callback(format_: str) -> None:
        raise ConfigError(Problem(code="odd", message=f"asked for {format_}"))

    return format_option(*more)(click.Command("asks", callback=callback))


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    ("asked", "told"),
    [("text", "text"), ("json", "json"), ("auto", "auto"), ("html", "auto"), ("github", "text"), ("sarif", "json")],
)
def test_refusal_is_told_in_the_form_asked_for(
    capsys: pytest.CaptureFixture[str], asked: str, told: str, terminal: bool
) -> None:
    assert run(_asks(*FORMS), ["--format", asked], terminal=terminal) == 1
    as_text = told == "text" or (told == "auto" and terminal)
    assert capsys.readouterr().err.startswith("odd: asked for" if as_text else "{")


def test_form_that_a_command_does_not_know_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_asks("html"), ["--format", "sarif"], terminal=True) == 1
    assert "'sarif' is not one of 'auto', 'json', 'text', 'html'" in capsys.readouterr().err


def test_json_flag_also_asks_for_refusals_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    def callback(json_: bool) -> None:
        raise ConfigError(Problem(code="odd", message=f"asked for {json_}"))

    command = json_option(click.Command("asks", callback=callback))
    assert run(command, ["--json"], terminal=True) == 1
    assert capsys.readouterr().err.startswith("{")
    assert run(command, [], terminal=True) == 1
    assert capsys.readouterr().err == "odd: asked for False\n"
