"""Blocks of the manifest as lines and tables, whatever they hold."""

from __future__ import annotations

from bfcl.release.report.panels import SHOWN, Panel, Table, panel


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


def test_value_alone_is_a_line() -> None:
    assert panel("x") == Panel(lines=(("", "x"),), tables=(), more=0)
