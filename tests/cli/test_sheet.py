"""Lines for a terminal, and for anything else."""

from __future__ import annotations

import io

import pytest

from bfcl.cli.sheet import Sheet


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def sheet() -> Sheet:
    made = Sheet()
    made.line("plain ", ("bad [red]", "red"), "   ")
    made.heading("title")
    made.hanging("  who ", "one\ntwo\x1b[0m", style="cyan")
    return made


PLAIN = "plain bad [red]\n\ntitle\n  who one\n      two\\x1b[0m\n"


def test_sheet_is_plain_where_no_terminal_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    sheet().print()
    assert capsys.readouterr() == (PLAIN, "")
    assert sheet().plain() == PLAIN


def test_sheet_is_coloured_on_a_terminal_and_never_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    sheet().print()
    assert screen.getvalue() == (
        "plain \x1b[31mbad [red]\x1b[0m\n\n\x1b[1mtitle\x1b[0m\n\x1b[36m  who \x1b[0mone\n      two\\x1b[0m\n"
    )


def test_sheet_leaves_colour_out_where_the_reader_asked_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    made = Sheet()
    made.line(("red", "red"))
    made.print()
    assert screen.getvalue() == "red\n"
