"""How do the numbers of a run look? Charts as SVG, made when the page is made: the page needs no chart library.

Drawn so that nothing depends on the fonts of the machine that draws: every extent is given, no label is measured.
Colours are names of the page's style sheet, so that charts follow its light and dark scheme.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from bfcl.release.document.svg import plain_svg

if TYPE_CHECKING:
    import altair as alt

    from bfcl.canonical import Json

SHOWN: Final = 30
"""Bars a chart has room for; the table below it has all."""

LABEL_CHARACTERS: Final = 24
"""Of a label beside a chart, unless it is told to have room for more."""

_LABEL_PX: Final = 186
"""Room for that many."""
_BARS_PX: Final = 170
_VALUE_PX: Final = 62
_ROW_PX: Final = 22
_CELL_PX: Final = 46
_HEAD_PX: Final = 96
_HEAD_CHARACTERS: Final = 16
_BAR: Final = "var(--bar)"
_INK: Final = "currentColor"


class Bar(NamedTuple):
    """One bar. `parts` maps a colour of the style sheet to a length; `shown` is the figure beside the bar."""

    label: str
    parts: Mapping[str, float]
    shown: str


def counted(items: Iterable[tuple[str, int]]) -> list[Bar]:
    """A bar a count."""
    return [Bar(label, {_BAR: count}, f"{count:,}") for label, count in items]


def bars(of: Sequence[Bar]) -> str:
    """Horizontal bars, at most `SHOWN`, as one `<svg>` element."""
    import altair as alt

    shown = of[:SHOWN]
    values: list[dict[str, Json]] = []
    ends: list[dict[str, Json]] = []
    for number, bar in enumerate(shown):
        start = 0.0
        for colour, length in bar.parts.items():
            values.append({"row": number, "from": start, "to": start + length, "colour": colour})
            start += length
        ends.append({"row": number, "end": start, "label": clipped(bar.label, LABEL_CHARACTERS), "shown": bar.shown})
    longest = max((sum(bar.parts.values()) for bar in shown), default=0) or 1
    row = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(len(shown)))))
    across = alt.Scale(domain=[0, longest], nice=False, zero=True)
    lengths = (
        _chart(values)
        .mark_bar(height=13)
        .encode(y=row, x=alt.X("from:Q", axis=None, scale=across), x2="to:Q", color=alt.Color("colour:N", scale=None))
    )
    names = _chart(ends).mark_text(align="right", baseline="middle", fontSize=12, color=_INK)
    figures = _chart(ends).mark_text(align="left", baseline="middle", dx=5, fontSize=12, color=_INK)
    layers = alt.layer(
        lengths,
        names.encode(y=row, x=alt.value(-8), text="label:N"),
        figures.encode(y=row, x=alt.X("end:Q", axis=None, scale=across), text="shown:N"),
    )
    height = max(1, len(shown)) * _ROW_PX
    return _svg(layers, (_BARS_PX, height), {"left": _LABEL_PX, "right": _VALUE_PX, "top": 0, "bottom": 0})


def grid(counts: Mapping[tuple[str, str], int], rows: Sequence[str], columns: Sequence[str]) -> str:
    """How many there are of each pair, at most `SHOWN` rows: the more, the darker the cell."""
    import altair as alt

    rows = rows[:SHOWN]
    cells: list[dict[str, Json]] = [
        {"row": row, "column": column, "count": count, "shown": f"{count:,}" if count else "·"}
        for row, name in enumerate(rows)
        for column, head in enumerate(columns)
        for count in (counts.get((name, head), 0),)
    ]
    down = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(len(rows)))))
    across = alt.X("column:O", axis=None, scale=alt.Scale(domain=list(range(len(columns)))))
    most = max(counts.values(), default=0) or 1
    # No darker than this, or the figures in it would not stand out in both schemes.
    shade = alt.Opacity("count:Q", legend=None, scale=alt.Scale(domain=[0, most], range=[0.04, 0.5]))
    names: list[dict[str, Json]] = [
        {"row": number, "label": clipped(one, LABEL_CHARACTERS)} for number, one in enumerate(rows)
    ]
    heads: list[dict[str, Json]] = [
        {"column": number, "label": clipped(one, _HEAD_CHARACTERS)} for number, one in enumerate(columns)
    ]
    side = _chart(names).mark_text(align="right", baseline="middle", fontSize=12, color=_INK)
    top = _chart(heads).mark_text(align="left", baseline="middle", fontSize=12, angle=315, color=_INK)
    layers = alt.layer(
        _chart(cells).mark_rect(color=_BAR).encode(x=across, y=down, opacity=shade),
        _chart(cells).mark_text(baseline="middle", fontSize=12, color=_INK).encode(x=across, y=down, text="shown:N"),
        side.encode(y=down, x=alt.value(-8), text="label:N"),
        top.encode(x=across, y=alt.value(-8), text="label:N"),
    )
    size = (max(1, len(columns)) * _CELL_PX, max(1, len(rows)) * (_ROW_PX + 4))
    return _svg(layers, size, {"left": _LABEL_PX, "right": 40, "top": _HEAD_PX, "bottom": 0})


def clipped(text: str, characters: int) -> str:
    """The beginning that fits, wide characters counted twice. The table beside a chart has the whole."""
    line = " ".join(text.split())
    widths = [2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line]
    if sum(widths) <= characters:
        return line
    kept = sum(width <= characters - 1 for width in accumulate(widths))
    return line[:kept] + "…"


def _chart(values: list[dict[str, Json]]) -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.InlineData(values=values))


def _svg(layers: alt.LayerChart | alt.FacetChart, size: tuple[int, int], padding: Mapping[str, int]) -> str:
    import altair as alt

    chart = layers.properties(
        width=size[0],
        height=size[1],
        padding=dict(padding),
        # Otherwise the size would follow from measured text.
        autosize=alt.AutoSizeParams(type="none"),
    ).configure(background="transparent", view=alt.ViewConfig(stroke=None), font="sans-serif")
    drawn = io.StringIO()
    chart.save(drawn, format="svg")
    return plain_svg(drawn.getvalue())
