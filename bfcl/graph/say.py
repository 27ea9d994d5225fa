"""How does a task speak to a person while it runs? doit captures the standard output that actions see."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence

from bfcl.errors import visible


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
        # Python flushes the stream once more at its end, and would make that the command's status.
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
