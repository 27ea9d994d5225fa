from __future__ import annotations

import io
import sys

import pytest

from bfcl.errors import Problem
from bfcl.evaluate.run.how import Standing
from bfcl.graph.eval_progress import EvalProgress, pace, standing_line
from bfcl.graph.progress import PLAIN_INTERVAL_S


def standing(done: int, *, total: int = 4) -> Standing:
    return Standing(
        alias="small", done=done, total=total, successes=done // 2, infrastructure_stops=min(done, 1), tokens=10 * done
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    tried = 0

    def write(self, _: str) -> int:
        self.tried += 1
        raise BrokenPipeError


def test_line_tells_done_success_stops_and_tokens() -> None:
    assert standing_line(standing(0)) == "small: 0/4 tasks, success -, 0 infrastructure stops, 0 tokens"
    assert standing_line(standing(3)) == "small: 3/4 tasks, success 33.3%, 1 infrastructure stops, 30 tokens"


def test_plain_lines_come_first_last_and_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, now = io.StringIO(), 100.0
    monkeypatch.setattr(sys, "__stderr__", stream)
    progress = EvalProgress(clock=lambda: now)
    for done in range(3):
        progress.show(standing(done))
    now += PLAIN_INTERVAL_S
    progress.show(standing(3))
    progress.show(standing(4))
    progress.close()
    assert stream.getvalue().splitlines() == [
        standing_line(standing(0)),
        f"{standing_line(standing(3))}, 0.6/s, 2 s left",
        standing_line(standing(4)),
    ]


def test_time_left_is_told_once_it_can_be_guessed() -> None:
    assert pace(standing(0), 1.0) == pace(standing(1), 0.0) == ""
    assert pace(standing(1, total=100), 0.5) == ", 2.0/s"
    assert pace(standing(50, total=100), 2.0) == ", 25/s, 2 s left"


def test_terminal_shows_a_live_line_and_keeps_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "__stderr__", stream)
    progress = EvalProgress()
    for done in range(5):
        progress.show(standing(done))
    progress.close()
    assert stream.getvalue().splitlines()[-1].endswith(standing_line(standing(4)))
    assert "\x1b[?25l" in stream.getvalue()
    assert "\x1b[?25h" in stream.getvalue()


def test_terminal_is_left_as_it_was_when_a_run_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "__stderr__", stream)
    progress = EvalProgress()
    progress.show(standing(1))
    progress.close()
    progress.close()
    assert stream.getvalue().count("\x1b[?25h") == 1


def test_stream_that_nobody_reads_does_not_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, progress, heard = Broken(), EvalProgress(), io.StringIO()
    for stream in (broken, None, heard):
        monkeypatch.setattr(sys, "__stderr__", stream)
        progress.show(standing(0))
    assert broken.tried == 1
    assert heard.getvalue().splitlines() == [standing_line(standing(0))]


def test_warnings_are_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", stream)
    EvalProgress().warn([Problem(code="turns_beyond_limit", message="too few", fix="more")])
    assert stream.getvalue() == "warning: turns_beyond_limit: too few\n  fix: more\n"
