"""How does an evaluation show itself: a live line on a terminal, plain lines elsewhere? Rule: evaluation.md §17.11."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from bfcl.errors import Problem
from bfcl.evaluate.run.how import Headway
from bfcl.graph.progress import PLAIN_INTERVAL_S
from bfcl.graph.say import warn

_REFRESHES_PER_S: Final = 8


class EvalProgress:
    """Writes to standard error, the real one. A candidate's first and last standing are always told.

    On a terminal no line is longer than the terminal is wide: one that wraps is not redrawn in its place.
    """

    def __init__(self, aliases: Sequence[str] = (), *, clock: Callable[[], float] = time.monotonic) -> None:
        """`aliases` are those of all candidates, in the order in which they are asked."""
        self._aliases = tuple(aliases)
        self._clock = clock
        self._printed = self._began = 0.0
        self._live: Any = None

    def show(self, headway: Headway) -> None:
        """One more episode ended, or a candidate begins. Whoever stops listening does not stop the run."""
        with contextlib.suppress(OSError):
            self._show(headway)

    def _show(self, headway: Headway) -> None:
        stream, now = sys.__stderr__, self._clock()
        if stream is None:
            return
        if headway.done == 0:
            self._began = now
        ended = headway.done == headway.total
        if self._live is None and stream.isatty():
            self._live = _opened(stream)
        columns = None if self._live is None else self._live.console.width
        elapsed_s = None if ended else now - self._began
        line = evaluation_line(headway, place=self._place(headway.alias), elapsed_s=elapsed_s, columns=columns)
        if self._live is not None:
            self._live.update(line)
            if not ended:
                return
            self.close()
        if headway.done == 0 or ended or now - self._printed >= PLAIN_INTERVAL_S:
            self._printed = now
            warn(line)

    def _place(self, alias: str) -> str:
        """Which of several candidates it is."""
        if len(self._aliases) < 2 or alias not in self._aliases:
            return ""
        return f"candidate {self._aliases.index(alias) + 1} of {len(self._aliases)}, "

    def warn(self, problems: Sequence[Problem]) -> None:
        """Before the first request, or once all is written."""
        for problem in problems:
            warn(f"warning: {problem}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def evaluation_line(
    headway: Headway, *, place: str = "", elapsed_s: float | None = None, columns: int | None = None
) -> str:
    """What a line says, in the most words that fit into `columns`. Success counts what is done, stops by
    infrastructure among it. `elapsed_s` is None once the candidate is through, and no pace is told."""
    share = f"{headway.successes / headway.done:.1%}" if headway.done else "-"
    stops, tokens = headway.infrastructure_stops, headway.tokens
    rate, left = Pace("", "") if elapsed_s is None else pace(headway, elapsed_s)
    done = f"{headway.done}/{headway.total}"
    name = f"{place}{headway.alias}"
    plain = f"{name}: {done} tasks, success {share}, {stops} infrastructure stops, {tokens} tokens"
    brief = f"{done}, {share}, {stops} stops, {abridged(tokens)} tokens"
    forms = [
        f"{plain}{rate}{left}",
        f"{plain}{left}",
        f"{name}: {done} tasks, success {share}, {stops} stops, {abridged(tokens)} tokens{left}",
        f"{name}: {brief}{left}",
        f"{name}: {brief}",
        f"{headway.alias}: {brief}",
    ]
    if columns is None:
        return forms[0]
    fitting = next((form for form in forms if len(form) <= columns), None)
    # A name may be as long as the line: what it counts is worth more.
    return fitting or f"{headway.alias[: max(1, columns - len(brief) - 3)]}…: {brief}"[:columns]


def abridged(count: int) -> str:
    """A large number in few characters: 3.6k, 1.2M. What rounds to a thousand of a unit is one of the next."""
    if count < 1_000:
        return str(count)
    shown = count / 1_000
    for unit in ("k", "M"):
        if (told := f"{shown:.1f}") != "1000.0" and shown < 1_000:
            return f"{told}{unit}"
        shown /= 1_000
    return f"{shown:.1f}G"


class Pace(NamedTuple):
    """Ends of a line, each with a comma in front or empty."""

    rate: str
    """How fast it goes."""
    left: str
    """How long it may take yet."""


def pace(headway: Headway, elapsed_s: float) -> Pace:
    """The time left is told once a twentieth is done: what comes first is mostly start-up."""
    if headway.done == 0 or elapsed_s <= 0:
        return Pace("", "")
    rate = headway.done / elapsed_s
    shown = f", {rate:.0f}/s" if rate >= 10 else f", {rate:.1f}/s"
    known = headway.done * 20 >= headway.total
    return Pace(shown, f", {(headway.total - headway.done) / rate:.0f} s left" if known else "")


def _opened(stream: Any) -> Any:
    from rich.console import Console
    from rich.live import Live

    live = Live(console=Console(file=stream, highlight=False), refresh_per_second=_REFRESHES_PER_S, transient=True)
    live.start()
    return live
