"""Blocks of the manifest as lines and tables, whatever they hold."""

from __future__ import annotations

import pytest

from bfcl.canonical import Json
from bfcl.release.document.panels import SHOWN, Panel, Table, panel


def test_block_becomes_lines_and_lists_of_objects_become_tables() -> None:
    block = {
        "report": {"b": None, "a": [1, "x"], "names": ["p", "q"], "empty": {}, "none": []},
        "enabled": True,
        "rows": [{"bucket": "easy", "target": 3}, {"bucket": "hard", "actual": 2.0}],
    }
    assert panel(block) == Panel(
        lines=(
            ("enabled", "yes"),
            ("report.a", '[1,"x"]'),
            ("report.b", "none"),
            ("report.empty", "{}"),
            ("report.names", "p, q"),
            ("report.none", "[]"),
        ),
        tables=(
            Table(
                path="rows",
                columns=("bucket", "target", "actual"),
                rows=(("easy", "3", ""), ("hard", "", "2.0")),
                more=0,
            ),
        ),
        more=0,
    )


def test_long_block_says_what_is_left_out() -> None:
    shown = panel({"by": {f"k{number:04}": number for number in range(SHOWN + 7)}, "rows": [{"a": 1}] * (SHOWN + 2)})
    assert (len(shown.lines), shown.more) == (SHOWN, 7)
    assert (len(shown.tables[0].rows), shown.tables[0].more) == (SHOWN, 2)


def test_mapping_to_like_objects_becomes_a_table() -> None:
    counts = {"survivors": 3, "selected": 1}
    assert panel({"by": {"b": counts, "a": {"selected": None, "survivors": 2}}, "x": 1}) == Panel(
        lines=(("x", "1"),),
        tables=(
            Table(
                path="by", columns=("name", "selected", "survivors"), rows=(("a", "none", "2"), ("b", "1", "3")), more=0
            ),
        ),
        more=0,
    )
    many = panel({"by": {f"k{number:04}": counts for number in range(SHOWN + 2)}})
    assert (many.lines, len(many.tables[0].rows), many.tables[0].more) == ((), SHOWN, 2)


@pytest.mark.parametrize(
    "block",
    [
        {"a": {"n": 1}},
        {"a": {"n": 1}, "b": {"m": 1}},
        {"a": {"n": 1}, "b": 2},
        {"a": {"n": {"deep": 1}}, "b": {"n": {"deep": 2}, "m": 3}},
        {"a": {}, "b": {}},
    ],
)
def test_mapping_to_unlike_objects_stays_lines(block: Json) -> None:
    assert panel({"by": block}).tables == ()


def test_value_alone_is_a_line() -> None:
    assert panel("x") == Panel(lines=(("", "x"),), tables=(), more=0)
