"""What doit prints for us: a line a task, then the funnel, and the benchmark's path as the last line of all."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from typing import Any, Final

from doit.reporter import ConsoleReporter

from bfcl.files import abandon
from bfcl.graph.late import late
from bfcl.graph.memory import remember_this_run
from bfcl.graph.opening import Opening
from bfcl.records.ids import GENERATING, RunStage

EVAL: Final = "eval"
"""The task of an evaluation."""


class Reporter(ConsoleReporter):  # type: ignore[misc]
    """doit's console reporter that also tells the invocation what was asked for, and ends it."""

    desc = "bfcl console output"
    outstream: Any

    def __init__(self, outstream: Any, options: Any) -> None:
        if isinstance(outstream, io.TextIOWrapper):
            # The release's path may be in any language, whatever the terminal can show.
            outstream.reconfigure(errors="backslashreplace")
        # A closed standard output is no reason to stop a build.
        super().__init__(outstream if outstream is not None else io.StringIO(), options)
        self._opening: Opening | None = None
        self._failed = False
        self._generates = False
        self._current: list[str] = []
        """Targets of an evaluation with which nothing is to be done."""

    def initialize(self, tasks: Mapping[str, Any], selected_tasks: list[str]) -> None:
        """Before anything runs: the effective command follows from the tasks asked for."""
        super().initialize(tasks, selected_tasks)
        config = tasks.get("config")
        if config is not None and config.meta:
            self._opening = config.meta["opening"]
            self._opening.command = effective_command(selected_tasks)
            self._opening.tasks = tuple(selected_tasks)
        if self._opening is None or self._opening.invocation.pack_around_build is None:
            remember_this_run()
        self._generates = not GENERATING.isdisjoint(selected_tasks)

    def write(self, text: str) -> None:
        """Print; whoever stops listening does not stop the build."""
        try:
            super().write(text)
            self.outstream.flush()
        except BrokenPipeError:
            self.outstream = io.StringIO()
            if sys.__stdout__ is not None:
                abandon(sys.__stdout__)

    def skip_uptodate(self, task: Any) -> None:
        """Nothing is to be done. Of an evaluation the end of the output says so, and what came out before."""
        super().skip_uptodate(task)
        if task.name == EVAL:
            self._current = list(task.targets)

    def add_failure(self, task: Any, fail: Any) -> None:
        """A refusal was printed by its action already; anything else is doit's to show."""
        self._failed = True
        super().add_failure(task, fail)

    def complete_run(self) -> None:
        """After the last task: funnel, path, and the end of the invocation."""
        super().complete_run()
        opening = self._opening
        if opening is None:
            return
        try:
            if isinstance(sys.exc_info()[1], KeyboardInterrupt):
                # Python still ends by the signal; the traceback would only tell where it struck.
                sys.excepthook = lambda *_: None
                # Of an evaluation its task has told what is left, and how to go on.
                if EVAL not in opening.tasks:
                    self.write("interrupted: nothing was published, finished results are kept\n")
            elif self._generates and not self._failed and not self.runtime_errors:
                for line in _last_lines(opening):
                    self.write(f"{line}\n")
            elif self._current and not self._failed:
                for line in late("eval_current_lines")(self._current):
                    self.write(f"{line}\n")
            if opening.last_line is not None:
                self.write(f"{opening.last_line}\n")
        finally:
            opening.close()


def _last_lines(opening: Opening) -> list[str]:
    run = opening.invocation.run
    if opening.noop and run is not None:
        return ["up to date: nothing changed since this release was published", str(run.benchmark)]
    if opening.session is None or not opening.session.published:
        return ["nothing was published: a task is set to be ignored; `doit forget` lifts that"]
    lines: list[str] = late("funnel_lines")(opening.session)
    return lines


def effective_command(selected: list[str]) -> RunStage:
    """The `stage` that a command line amounts to: `all` by name, `prepare` where only checks were asked for.

    Any other task is part of `generate`.
    """
    if "all" in selected:
        return "all"
    if selected and set(selected) <= {"config", "prepare", "validate"}:
        return "prepare"
    return "generate"
