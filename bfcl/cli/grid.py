"""How do rows of cells line up, whatever script they are written in?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

WIDEST: Final = 44
"""Terminal columns of a cell; a longer one is cut, so that a table fits a page."""


def aligned(rows: Sequence[Sequence[str]], *, numbers: int = 0, widest: int = WIDEST) -> Iterator[str]:
    """Rows as lines: the last `numbers` columns to the right, the others to the left, two blanks between.

    Widths are terminal columns, of which a Chinese character takes two. Rows have the same number of cells.
    """
    cut = [[_cut(cell, widest) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cut, strict=True)]
    first_number = len(widths) - numbers
    for row in cut:
        cells = [
            _padding(cell, width) + cell if index >= first_number else cell + _padding(cell, width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _padding(cell: str, width: int) -> str:
    return " " * (width - cell_len(cell))


def _cut(cell: str, widest: int) -> str:
    return cell if cell_len(cell) <= widest else set_cell_size(cell, widest - 1).rstrip() + "…"
