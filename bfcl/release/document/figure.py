"""What does one chart of a page say, to eyes and to readers of tables alike?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with its numbers: the first cell of a row names it. `note` says what the chart leaves out."""

    title: str
    svg: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    wide: bool = False
