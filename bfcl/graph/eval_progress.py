"""How does an evaluation show itself: a live line on a terminal, plain lines elsewhere? Rule: evaluation.md §17.11."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from bfcl.errors import Problem
from bfcl.evaluate.run.how import Standing
from bfcl.graph.progress import PLAIN_INTERVAL_S
from bfcl.graph.say import warn

_REFRESHES_PER_S: Final = 8


class EvalProgress:
    """Writes to standard error, the real one. A candidate's first and last standing are always told."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._printed = self._began = 0.0
        self._live: Any = None

    def show(self, standing: Standing) -> None:
        """One more episode ended, or a candidate begins. Whoever stops listening does not stop the run."""
        with contextlib.suppress(OSError):
            self._show(standing)

    def _show(self, standing: Standing) -> None:
        stream, now = sys.__stderr__, self._clock()
        if stream is None:
            return
        if standing.done == 0:
            self._began = now
        ended = standing.done == standing.total
        line = standing_line(standing) + ("" if ended else pace(standing, now - self._began))
        if self._live is None and stream.isatty():
            self._live = _opened(stream)
        if self._live is not None:
            self._live.update(line)
            if not ended:
                return
            self.close()
        if standing.done == 0 or ended or now - self._printed >= PLAIN_INTERVAL_S:
            self._printed = now
            warn(line)

    def warn(self, problems: Sequence[Problem]) -> None:
        """Before the first request."""
        for problem in problems:
            warn(f"warning: {problem}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def standing_line(standing: Standing) -> str:
    """What a line says. Success counts what is done, stops by infrastructure among it."""
    share = f"{standing.successes / standing.done:.1%}" if standing.done else "-"
    return (
        f"{standing.alias}: {standing.done}/{standing.total} tasks, success {share}, "
        f"{standing.infrastructure_stops} infrastructure stops, {standing.tokens} tokens"
    )


def pace(standing: Standing, elapsed_s: float) -> str:
    """How fast it goes, and how long it may take yet, once a twentieth is done: what comes first is mostly start-up."""
    if standing.done == 0 or elapsed_s <= 0:
        return ""
    rate = standing.done / elapsed_s
    shown = f", {rate:.0f}/s" if rate >= 10 else f", {rate:.1f}/s"
    return shown + (
        f", {(standing.total - standing.done) / rate:.0f} s left" if standing.done * 20 >= standing.total else ""
    )


def _opened(stream: Any) -> Any:
    from rich.console import Console
    from rich.live import Live

    live = Live(console=Console(file=stream, highlight=False), refresh_per_second=_REFRESHES_PER_S, transient=True)
    live.start()
    return live
