"""Charts: what they show, and that neither a label nor the machine's fonts can change more than a label."""

from __future__ import annotations

import re
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.release.document.charts import SHOWN, Bar, bars, clipped, counted, grid

pytest.importorskip("altair", reason="the extra `report` is not installed")
pytest.importorskip("vl_convert", reason="the extra `report` is not installed")


def words(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter("text")]


def lengths(svg: str) -> list[float]:
    """Of the bars, in pixels."""
    paths = [element.attrib["d"] for element in ET.fromstring(svg).iter("path") if "var(" in element.get("fill", "")]
    return [float(found.group(1)) for path in paths if (found := re.search(r"h([\d.]+)v", path))]


def test_bars_have_their_labels_and_figures() -> None:
    svg = bars(counted([("one", 1200), ("two", 300)]))
    assert words(svg) == ["one", "two", "1,200", "300"]
    longest, other = lengths(svg)
    assert longest == 4 * other


def test_parts_of_a_bar_stand_end_to_end() -> None:
    svg = bars([Bar("mixed", {"var(--good)": 3.0, "var(--bad)": 1.0}, "3/4")])
    good, bad = lengths(svg)
    assert good == 3 * bad
    assert svg.index("var(--good)") < svg.index("var(--bad)")


def test_labels_that_look_alike_keep_their_bars() -> None:
    svg = bars(counted([("x" * 40, 2), ("x" * 41, 1)]))
    assert len(lengths(svg)) == 2


def test_no_more_bars_than_there_is_room_for() -> None:
    assert len(lengths(bars(counted([(str(number), 1) for number in range(SHOWN + 5)])))) == SHOWN


def test_nothing_to_draw_is_an_empty_drawing() -> None:
    assert words(bars([])) == []


def test_label_is_never_more_than_a_label() -> None:
    label = '"><b>\x0b'
    (name, _) = words(bars(counted([(label, 1)])))
    assert name == '"><b>'


def test_size_does_not_depend_on_the_words() -> None:
    def size(label: str) -> dict[str, str]:
        root = ET.fromstring(bars(counted([(label, 1)])))
        return {key: root.attrib[key] for key in ("width", "height", "viewBox")}

    assert size("i") == size("W" * 40) == size("漢字" * 20) == size("مرحبا")


def test_grid_has_a_cell_for_each_pair() -> None:
    svg = grid({("a", "p"): 5, ("b", "q"): 1}, ["a", "b"], ["p", "q"])
    assert words(svg) == ["5", "·", "·", "1", "a", "b", "p", "q"]


def test_same_numbers_give_the_same_bytes() -> None:
    assert bars(counted([("one", 1), ("two", 2)])) == bars(counted([("one", 1), ("two", 2)]))


@given(st.text(), st.integers(min_value=1, max_value=30))
def test_clipped_text_is_a_beginning_that_fits(text: str, room: int) -> None:
    line = " ".join(text.split())
    short = clipped(text, room)
    assert sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in short) <= room
    assert short == line or (short.endswith("…") and line.startswith(short.removesuffix("…")))
