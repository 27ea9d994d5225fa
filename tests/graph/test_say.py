"""What a task says reaches the real standard output, whatever that can show."""

from __future__ import annotations

import io
import sys

import pytest

from bfcl.graph.say import say, warn


def test_lines_reach_a_terminal_that_cannot_show_them(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "__stdout__", io.TextIOWrapper(raw, encoding="ascii"))
    say(["lò nung", "kiln"])
    assert raw.getvalue() == b"l\\xf2 nung\nkiln\n"


def test_captured_output_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    real = io.StringIO()
    monkeypatch.setattr(sys, "__stdout__", real)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    say(["told"])
    assert real.getvalue() == "told\n"
    assert sys.stdout.getvalue() == ""  # type: ignore[attr-defined]


def test_process_without_a_standard_output_stays_silent(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "__stdout__", None)
    say(["nobody"])
    assert capfd.readouterr() == ("", "")


def test_control_characters_are_spelt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = io.StringIO()
    monkeypatch.setattr(sys, "__stdout__", real)
    say(["\x1b[2Jred\x9b\r", "a\tb"])
    assert real.getvalue() == "\\x1b[2Jred\\x9b\\x0d\na\tb\n"


def test_warning_that_nobody_takes_is_dropped_and_leaves_the_stream_fit_for_its_last_flush(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 a stream
        monkeypatch.setattr(sys, "__stderr__", full)
        warn("one")
        warn("other")
        full.flush()
