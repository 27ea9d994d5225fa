"""What a line of progress says, and when it dares to say how long it will take."""

from __future__ import annotations

import pytest

from bfcl.graph.progress import progress_line


@pytest.mark.parametrize(
    ("done", "elapsed_s", "line"),
    [
        (4, 5.0, "render: 4/100 tasks, 0.8/s, 0 dropped"),
        (5, 5.0, "render: 5/100 tasks, 1.0/s, 0 dropped, 95 s left"),
        (50, 5.0, "render: 50/100 tasks, 10/s, 0 dropped, 5 s left"),
        (100, 4.0, "render: 100/100 tasks, 25/s, 0 dropped, 0 s left"),
        (0, 5.0, "render: 0/100 tasks, 0.0/s, 0 dropped"),
    ],
)
def test_time_left_is_told_once_a_twentieth_is_done(done: int, elapsed_s: float, line: str) -> None:
    assert progress_line("render", done, 100, 0, elapsed_s) == line


def test_nothing_to_do_divides_by_nothing() -> None:
    assert progress_line("render", 0, 0, 0, 0.0) == "render: 0/0 tasks, 0.0/s, 0 dropped"
