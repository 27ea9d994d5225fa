from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import Problem
from bfcl.evaluate.run.how import Headway
from bfcl.graph.eval_progress import EvalProgress, abridged, evaluation_line, pace
from bfcl.graph.progress import PLAIN_INTERVAL_S


def standing(done: int, *, total: int = 4) -> Headway:
    return Headway(
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
    assert evaluation_line(standing(0)) == "small: 0/4 tasks, success -, 0 infrastructure stops, 0 tokens"
    assert evaluation_line(standing(3)) == "small: 3/4 tasks, success 33.3%, 1 infrastructure stops, 30 tokens"


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
        evaluation_line(standing(0)),
        f"{evaluation_line(standing(3))}, 0.6/s, 2 s left",
        evaluation_line(standing(4)),
    ]


def test_time_left_is_told_once_it_can_be_guessed() -> None:
    assert pace(standing(0), 1.0) == pace(standing(1), 0.0) == ("", "")
    assert pace(standing(1, total=100), 0.5) == (", 2.0/s", "")
    assert pace(standing(50, total=100), 2.0) == (", 25/s", ", 2 s left")


LARGE = replace(standing(1_200, total=4_000), alias="some-model-of-70b", tokens=1_234_567, infrastructure_stops=12)


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            None,
            "candidate 2 of 3, some-model-of-70b: 1200/4000 tasks, success 50.0%, 12 infrastructure stops, "
            "1234567 tokens, 10/s, 280 s left",
        ),
        (
            120,
            "candidate 2 of 3, some-model-of-70b: 1200/4000 tasks, success 50.0%, 12 infrastructure stops, "
            "1234567 tokens, 280 s left",
        ),
        (102, "candidate 2 of 3, some-model-of-70b: 1200/4000 tasks, success 50.0%, 12 stops, 1.2M tokens, 280 s left"),
        (90, "candidate 2 of 3, some-model-of-70b: 1200/4000, 50.0%, 12 stops, 1.2M tokens, 280 s left"),
        (80, "candidate 2 of 3, some-model-of-70b: 1200/4000, 50.0%, 12 stops, 1.2M tokens"),
        (70, "some-model-of-70b: 1200/4000, 50.0%, 12 stops, 1.2M tokens"),
        (50, "some-mod…: 1200/4000, 50.0%, 12 stops, 1.2M tokens"),
    ],
)
def test_line_is_told_in_the_most_words_that_fit(columns: int | None, line: str) -> None:
    told = evaluation_line(LARGE, place="candidate 2 of 3, ", elapsed_s=120.0, columns=columns)
    assert told == line


@given(
    alias=st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True),
    done=st.integers(0, 10**6),
    tokens=st.integers(0, 10**12),
    columns=st.integers(20, 200),
)
def test_no_line_is_longer_than_the_terminal_is_wide(alias: str, done: int, tokens: int, columns: int) -> None:
    one = replace(standing(done, total=10**6), alias=alias, tokens=tokens)
    line = evaluation_line(one, place="candidate 10 of 12, ", elapsed_s=60.0, columns=columns)
    assert len(line) <= columns
    assert line.startswith((f"candidate 10 of 12, {alias}: ", alias[:1]))


def test_large_numbers_are_abridged() -> None:
    assert [abridged(count) for count in (0, 999, 1_000, 3_634, 1_250_000, 7_000_000_000)] == [
        "0",
        "999",
        "1.0k",
        "3.6k",
        "1.2M",
        "7.0G",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999_949, "999.9k"),
        (999_960, "1.0M"),
        (999_999, "1.0M"),
        (999_949_999, "999.9M"),
        (999_960_000, "1.0G"),
        (10**12, "1000.0G"),
    ],
)
def test_unit_of_an_abridged_number_is_that_of_the_rounded_one(count: int, text: str) -> None:
    assert abridged(count) == text


def test_one_of_several_candidates_says_which_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", stream)
    for aliases in (["big", "small"], ["small"]):
        EvalProgress(aliases).show(standing(0))
    assert stream.getvalue().splitlines() == [
        "candidate 2 of 2, small: 0/4 tasks, success -, 0 infrastructure stops, 0 tokens",
        "small: 0/4 tasks, success -, 0 infrastructure stops, 0 tokens",
    ]


def test_last_line_of_a_candidate_fits_into_the_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "__stderr__", stream)
    monkeypatch.setenv("COLUMNS", "80")
    progress = EvalProgress(["a", LARGE.alias])
    progress.show(replace(LARGE, done=LARGE.total))
    assert (
        stream.getvalue()
        .splitlines()[-1]
        .endswith("candidate 2 of 2, some-model-of-70b: 4000/4000, 15.0%, 12 stops, 1.2M tokens")
    )


def test_terminal_shows_a_live_line_and_keeps_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "__stderr__", stream)
    progress = EvalProgress()
    for done in range(5):
        progress.show(standing(done))
    progress.close()
    assert stream.getvalue().splitlines()[-1].endswith(evaluation_line(standing(4)))
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
    assert heard.getvalue().splitlines() == [evaluation_line(standing(0))]


def test_warnings_are_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", stream)
    EvalProgress().warn([Problem(code="turns_beyond_limit", message="too few", fix="more")])
    assert stream.getvalue() == "warning: turns_beyond_limit: too few\n  fix: more\n"
