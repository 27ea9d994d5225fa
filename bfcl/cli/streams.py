"""Where do stdin, stdout and stderr lead, and what if they lead nowhere or take no more?"""

from __future__ import annotations

import io
import os
import sys
from typing import Final, TextIO

_NAMES: Final = {1: "standard output", 2: "standard error"}


class OutputError(OSError):
    """A stream that carries answers took no more, such as a full disk. `stream` is its name."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.stream = _NAMES[number]
        self.reason = reason


class _Stream(io.FileIO):
    """A standard stream whose failures can be told from those of other files."""

    # The buffer above it, its only caller, passes what it holds as one of these two.
    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(self.fileno(), error.strerror or str(error)) from None


def open_streams() -> None:
    """Make stdout and stderr the process's own, able to carry any language; give a closed one the null device.

    Descriptors 0 to 2 have to be taken before anything else is opened: a pipe to a worker that gets one of them would
    end as its stdin or stdout.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free descriptor is the one that is missing.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 lives as long as the process
    sys.stdout = _opened(1, sys.stdout)
    sys.stderr = _opened(2, sys.stderr)


def _opened(number: int, before: TextIO | None) -> TextIO:
    encoding = "utf-8" if before is None else before.encoding
    raw: io.RawIOBase = _Stream(number, "wb", closefd=False)
    buffer = io.BufferedWriter(raw)
    # A pack may speak any language, whatever the terminal can show.
    return io.TextIOWrapper(buffer, encoding, errors="backslashreplace", line_buffering=number == 2 or buffer.isatty())
