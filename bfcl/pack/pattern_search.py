"""Does a text match a schema's pattern, and does the answer come in time? Rule: pack.md §3, `pattern`."""

from __future__ import annotations

import re
import signal
import threading
from types import FrameType
from typing import Final

from bfcl.pack.endless_patterns import may_not_end

LIMIT_S: Final = 1.0
"""How long a pattern that may not end is given for one text."""


def pattern_matches(pattern: str, text: str) -> bool:
    """Whether `pattern` is found in `text`.

    Raises: TimeoutError where a pattern that may not end does not within `LIMIT_S`. Only the main thread of a system
    with interval timers can tell; elsewhere such a search takes the time it takes.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not hasattr(signal, "setitimer") or not may_not_end(pattern):
        return re.search(pattern, text) is not None
    return _within_limit(pattern, text)


def _within_limit(pattern: str, text: str) -> bool:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    # The engine of `re` looks for signals while it searches; nothing else stops it.
    before = signal.signal(signal.SIGALRM, stop)
    try:
        running = signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        try:
            return re.search(pattern, text) is not None
        finally:
            signal.setitimer(signal.ITIMER_REAL, *running)
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
