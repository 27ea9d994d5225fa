"""Charts, and what the cells beside them say."""

from __future__ import annotations

import pytest

from bfcl.evaluate.page import figures
from bfcl.evaluate.page.rates import headline
from bfcl.evaluate.page.wording import resampled
from tests.evaluate.page.pages import Told, page_data
from tests.evaluate.score.episodes import ANSWERS

for library in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(library, reason="the extra `report` is not installed")

MIXED: list[Told] = [None, ANSWERS["wrong_value"], ANSWERS["unreachable"], None, ANSWERS["words"]]


def test_headline_has_both_intervals_and_both_rates() -> None:
    (one,) = page_data({"a": MIXED}).labelled()
    figure = figures.headline_figure([headline(one)])
    assert figure.rows[0][:5] == ("a", "2", "5", "40.0%", "11.8% to 76.9%")
    assert figure.rows[0][5] == resampled(headline(one).clustered)
    assert figure.rows[0][6:] == ("1", "50.0%", "15.0% to 85.0%")
    assert len(figure.head) == len(figure.rows[0])


@pytest.mark.parametrize("characters", [24, 25, 56])
def test_label_that_does_not_fit_has_the_whole_width_and_is_not_cut(characters: int) -> None:
    label = "m" * characters
    (one,) = page_data({label: MIXED}).labelled()
    short, whole = page_data({"a": MIXED}).labelled(), figures.headline_figure([headline(one)])
    assert f">{label}<" in whole.svg
    kinds = [figures.kind_figure([one, *short], "difficulty"), figures.kind_figure(short, "difficulty")]
    assert [figure.wide for figure in kinds] == [True, False]
    assert f">easy · {label}<" in kinds[0].svg or characters == 56


def test_label_that_is_too_long_for_any_chart_keeps_both_of_its_ends() -> None:
    label = f"{'evaluation-of-a-long-night' * 3}:the-candidate"
    short = figures.shortened(label)
    assert len(short) == figures.LONGEST_LABEL
    assert short.startswith("evaluation-of-a-long-night")
    assert "…" in short
    assert short.endswith(":the-candidate")
    assert figures.shortened("x" * figures.LONGEST_LABEL) == "x" * figures.LONGEST_LABEL


def test_gate_figure_has_a_row_a_gate_and_who_failed_it() -> None:
    (one,) = page_data({"a": MIXED}).labelled()
    figure = figures.gate_figure(one)
    assert figure.title == "Gates: a"
    assert [row[0] for row in figure.rows] == [
        "tool_selection",
        "arguments",
        "schema_valid",
        "call_grouping",
        "call_ordering",
        "text_turn",
        "trace_completion",
    ]
    assert figure.rows[1] == ("arguments", "2", "5", "40.0%", "11.8% to 76.9%", "2", "1")
    assert all(len(row) == len(figure.head) for row in figure.rows)


def test_kind_figure_puts_candidates_beside_each_other_and_open_values_last() -> None:
    data = page_data({"a": MIXED, "b": [None] * 5})
    figure = figures.kind_figure(data.labelled(), "difficulty")
    assert [row[:4] for row in figure.rows] == [
        ("easy", "a", "0", "2"),
        ("easy", "b", "2", "2"),
        ("hard", "a", "0", "1"),
        ("hard", "b", "1", "1"),
        ("(none)", "a", "2", "2"),
        ("(none)", "b", "2", "2"),
    ]
    assert all(len(row) == len(figure.head) for row in figure.rows)
    assert "easy · b" in figure.svg
