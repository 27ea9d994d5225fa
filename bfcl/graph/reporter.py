"""What doit prints for us: a line a task, then the funnel, and the benchmark's path as the last line of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doit.reporter import ConsoleReporter

from bfcl.config.model import Stage
from bfcl.graph.funnel import funnel_lines
from bfcl.graph.session import Session

_GENERATING = frozenset({"generate", "all"})


class Reporter(ConsoleReporter):  # type: ignore[misc]
    """doit's console reporter that also tells the session what was asked for, and ends it."""

    desc = "bfcl console output"

    def __init__(self, outstream: Any, options: Any) -> None:
        super().__init__(outstream, options)
        self._session: Session | None = None
        self._failed = False
        self._generates = False

    def initialize(self, tasks: Mapping[str, Any], selected_tasks: list[str]) -> None:
        """Before anything runs: the effective command follows from the tasks asked for."""
        super().initialize(tasks, selected_tasks)
        config = tasks.get("config")
        if config is not None and config.meta:
            self._session = config.meta["session"]
            self._session.command = effective_command(selected_tasks)
        self._generates = bool(_GENERATING & set(selected_tasks))

    def add_failure(self, task: Any, fail: Any) -> None:
        """A refusal was printed by its action already; anything else is doit's to show."""
        self._failed = True
        super().add_failure(task, fail)

    def complete_run(self) -> None:
        """After the last task: funnel, path, and the end of the session."""
        super().complete_run()
        session = self._session
        if session is None:
            return
        try:
            if self._generates and not self._failed and not self.runtime_errors:
                for line in funnel_lines(session):
                    self.write(f"{line}\n")
        finally:
            session.close()


def effective_command(selected: list[str]) -> Stage:
    """The `stage` that a command line amounts to: `all` and `prepare` by name, any other task is part of `generate`."""
    if "all" in selected:
        return "all"
    if selected and set(selected) <= {"config", "prepare"}:
        return "prepare"
    return "generate"
