"""How does a task speak to a person while it runs? doit captures the standard output that actions see."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from bfcl.errors import visible
from bfcl.files import abandon


def say(lines: Sequence[str]) -> None:
    """Write lines to the real standard output, control characters spelt out; nothing where the process has none."""
    stream = sys.__stdout__
    if stream is None:
        return
    if isinstance(stream, io.TextIOWrapper):
        # A pack may speak any language, whatever the terminal can show.
        stream.reconfigure(errors="backslashreplace")
    stream.write("".join(f"{visible(line)}\n" for line in lines))
    stream.flush()


def warn(line: str) -> None:
    """Write one line to the real standard error, control characters spelt out; nothing where nobody takes it."""
    stream = sys.__stderr__
    if stream is None:
        return
    try:
        stream.write(f"{visible(line)}\n")
        stream.flush()
    except OSError:
        abandon(stream)
