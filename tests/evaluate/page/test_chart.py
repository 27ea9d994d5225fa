"""Charts of shares: where lines are drawn, how they are named, which stand together."""

from __future__ import annotations

import pytest

from bfcl.evaluate.page.chart import LONGEST_NAME, Chart, Line, Placed, line, shortened
from bfcl.evaluate.score.rates import Rate


def test_line_is_drawn_from_the_low_end_of_wilsons_interval_with_its_mark_at_the_share() -> None:
    one = line("a", Rate(successes=2, tasks=5))
    assert one.shown == "40.0%"
    assert one.placed == Placed(low="11.76%", width="65.17%", share="40.00%")


def test_line_without_a_task_has_nothing_to_draw() -> None:
    one = line("a", Rate(successes=0, tasks=0))
    assert (one.placed, one.shown) == (None, "–")


@pytest.mark.parametrize("successes", [0, 7])
def test_line_never_leaves_the_scale(successes: int) -> None:
    placed = line("a", Rate(successes=successes, tasks=7)).placed
    assert placed is not None
    low, width, share = (float(text.removesuffix("%")) for text in placed)
    assert 0 <= low <= low + width <= 100.01
    assert share == (100 if successes else 0)


def test_name_that_is_too_long_keeps_both_of_its_ends() -> None:
    name = f"{'evaluation-of-a-long-night' * 3}:the-candidate"
    short = shortened(name)
    assert len(short) == LONGEST_NAME
    assert short.startswith("evaluation-of-a-long-night")
    assert "…" in short
    assert short.endswith(":the-candidate")
    assert shortened("x" * LONGEST_NAME) == "x" * LONGEST_NAME


def test_lines_next_to_each_other_stand_under_one_group() -> None:
    lines: list[Line] = [line(name, Rate(successes=1, tasks=2), group) for group, name in ("xa", "xb", "ya")]
    chart = Chart(title="t", lines=tuple(lines), head=(), rows=())
    assert list(chart.grouped()) == [("x", lines[:2]), ("y", lines[2:])]
