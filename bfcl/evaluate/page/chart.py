"""What does a chart of shares say? `chart.html.j2` draws it as wide as its card, with the numbers in a table below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from bfcl.evaluate.page.wording import percent
from bfcl.evaluate.score.rates import Rate

LONGEST_NAME: Final = 64
"""Characters of a name beside a line; it wraps. Its title has the whole."""


class Placed(NamedTuple):
    """The interval of a line and the mark on it as SVG takes them: per cent of the width."""

    low: str
    width: str
    share: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A share on the scale from 0 to 1, and its interval; all of it None where nothing was counted."""

    group: str | None
    """What it shares with the lines next to it, told once above them; None where a line stands for itself."""
    name: str
    share: float | None
    low: float | None
    high: float | None

    @property
    def shown(self) -> str:
        return percent(self.share)

    @property
    def short(self) -> str:
        return shortened(self.name)

    @property
    def placed(self) -> Placed | None:
        """Where to draw it; None where there is nothing to draw."""
        if self.share is None or self.low is None or self.high is None:
            return None
        return Placed(low=_along(self.low), width=_along(self.high - self.low), share=_along(self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines to look at, and the rows that have their numbers; `note` says which lines are left out."""

    title: str
    lines: tuple[Line, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    wide: bool = False
    """Whether it has a row of the page to itself, for the sake of its table."""

    def grouped(self) -> Iterator[tuple[str | None, list[Line]]]:
        """The lines under their groups, in order."""
        for group, lines in groupby(self.lines, key=lambda line: line.group):
            yield group, list(lines)


def line(name: str, rate: Rate, group: str | None = None) -> Line:
    """A rate with Wilson's interval."""
    interval = rate.interval
    return Line(
        group=group,
        name=name,
        share=rate.share,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


def shortened(name: str) -> str:
    """Both ends of a name that is too long, since names often differ in the last part."""
    if len(name) <= LONGEST_NAME:
        return name
    half = LONGEST_NAME // 2
    return f"{name[: half - 1]}…{name[-half:]}"


def _along(share: float) -> str:
    return f"{100 * share:.2f}%"
