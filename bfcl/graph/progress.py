"""How long work shows itself: a live bar on a terminal, plain lines elsewhere. Rule: spec README, ruling 11."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

PLAIN_INTERVAL_S = 5.0


class Progress:
    """Counts `done` of `total` items of one stage, with drops, rate and time left; writes to standard error."""

    def __init__(self, stage: str, total: int) -> None:
        self._stage = stage
        self._total = total
        self._done = 0
        self._drops = 0
        self._started = self._printed = time.monotonic()
        self._bar: Any = None
        self._job: Any = None

    def __enter__(self) -> Self:
        stream = sys.__stderr__
        if self._total and stream is not None and stream.isatty():
            self._open_bar(stream)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, done: int, drops: int = 0) -> None:
        """Note `done` more items, `drops` of them dropped."""
        self._done += done
        self._drops += drops
        if self._bar is not None:
            self._bar.update(self._job, advance=done, drops=self._drops)
        elif time.monotonic() - self._printed >= PLAIN_INTERVAL_S:
            self._printed = time.monotonic()
            self._print_line()

    def _open_bar(self, stream: Any) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(show_speed=True),
            TextColumn("{task.fields[drops]} dropped"),
            TimeRemainingColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self._job = self._bar.add_task(self._stage, total=self._total, drops=0)
        self._bar.start()

    def _print_line(self) -> None:
        stream = sys.__stderr__
        if stream is not None:
            elapsed = time.monotonic() - self._started
            stream.write(f"{progress_line(self._stage, self._done, self._total, self._drops, elapsed)}\n")
            stream.flush()


def progress_line(stage: str, done: int, total: int, drops: int, elapsed_s: float) -> str:
    """What a plain line says. The time left is told once a twentieth is done: what comes first is mostly start-up."""
    rate = done / max(elapsed_s, 1e-9)
    shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"
    left = f", {(total - done) / rate:.0f} s left" if done * 20 >= total > 0 else ""
    return f"{stage}: {done}/{total} tasks, {shown}/s, {drops} dropped{left}"
