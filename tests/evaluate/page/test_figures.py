"""Charts, and what the cells beside them say."""

from __future__ import annotations

from bfcl.evaluate.page import figures
from bfcl.evaluate.page.rates import headline
from bfcl.evaluate.page.wording import resampled
from bfcl.release.document.charts import SHOWN
from tests.evaluate.page.pages import Told, page_data
from tests.evaluate.score.episodes import ANSWERS

MIXED: list[Told] = [None, ANSWERS["wrong_value"], ANSWERS["unreachable"], None, ANSWERS["words"]]


def test_headline_has_both_intervals_and_both_rates() -> None:
    (one,) = page_data({"a": MIXED}).labelled()
    figure = figures.headline_figure([headline(one)])
    assert figure.rows[0][:5] == ("a", "2", "5", "40.0%", "11.8% to 76.9%")
    assert figure.rows[0][5] == resampled(headline(one).clustered)
    assert figure.rows[0][6:] == ("1", "50.0%", "15.0% to 85.0%")
    assert len(figure.head) == len(figure.rows[0])


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
    assert [(line.group, line.name, line.shown) for line in figure.lines][:3] == [
        ("easy", "a", "0.0%"),
        ("easy", "b", "100.0%"),
        ("hard", "a", "0.0%"),
    ]
    assert (figure.lines[-1].group, figure.note) == ("(none)", None)


def test_kind_figure_of_one_candidate_names_each_line_by_its_value() -> None:
    figure = figures.kind_figure(page_data({"a": MIXED}).labelled(), "difficulty")
    assert [(line.group, line.name) for line in figure.lines] == [(None, "easy"), (None, "hard"), (None, "(none)")]


def test_figure_of_more_lines_than_there_is_room_for_says_so_and_has_all_in_its_table() -> None:
    data = page_data({f"c{number:02}": [None] for number in range(SHOWN + 2)})
    figure = figures.headline_figure([headline(one) for one in data.labelled()])
    assert (len(figure.lines), len(figure.rows)) == (SHOWN, SHOWN + 2)
    assert figure.note == f"The first {SHOWN} of {SHOWN + 2}; the table has all."
