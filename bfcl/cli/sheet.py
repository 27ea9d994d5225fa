"""How do lines with styled words reach the reader: coloured on a terminal, plain anywhere else?"""

from __future__ import annotations

import sys
from typing import TypeAlias

import click
from rich.console import Console
from rich.text import Text

from bfcl.cli.show import visible

Piece: TypeAlias = str | tuple[str, str]
"""Text, or text with a rich style."""


class Sheet:
    """Lines gathered in order, printed at once. Nothing is wrapped: a copied line is the line that was written."""

    def __init__(self) -> None:
        self._lines: list[Text] = []

    def line(self, *pieces: Piece) -> None:
        """Append one line; trailing blanks go."""
        safe = [visible(piece) if isinstance(piece, str) else (visible(piece[0]), piece[1]) for piece in pieces]
        text = Text.assemble(*safe)
        text.rstrip()
        self._lines.append(text)

    def heading(self, title: str) -> None:
        """Append a blank line and a title."""
        self.line()
        self.line((title, "bold"))

    def hanging(self, lead: str, text: str, *, style: str = "") -> None:
        """Append `text` behind `lead`, its further lines indented to stand below its first."""
        first, *rest = text.split("\n")
        self.line((lead, style), first)
        for line in rest:
            self.line(" " * len(lead), line)

    def plain(self) -> str:
        """All lines without style, each ended by a line feed."""
        return "".join(f"{text.plain}\n" for text in self._lines)

    def print(self) -> None:
        """Write to stdout."""
        if not sys.stdout.isatty():
            click.echo(self.plain(), nl=False)
            return
        console = Console(soft_wrap=True, highlight=False)
        for text in self._lines:
            console.print(text)
