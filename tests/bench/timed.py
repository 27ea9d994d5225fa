"""A `dodo.py` that also counts, in `spent.json`: CPU seconds of each task, and the most memory by its end."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

from bfcl.graph.reporter import Reporter
from bfcl.graph.tasks import DOIT_CONFIG as SHIPPED
from bfcl.graph.tasks import task_pipeline

SPENT = "spent.json"
DODO = 'from tests.bench.timed import DOIT_CONFIG, task_pipeline\n\n__all__ = ["DOIT_CONFIG", "task_pipeline"]\n'


class TimedReporter(Reporter):
    """The shipped reporter, which notes what every task took: `{task: [CPU seconds, MiB]}`.

    Processes that a task started count once they ended, which worlds do with the last task that plays episodes.
    """

    def __init__(self, outstream: Any, options: Any) -> None:
        super().__init__(outstream, options)
        self._spent: dict[str, tuple[float, int]] = {}
        self._began = 0.0

    def execute_task(self, task: Any) -> None:
        super().execute_task(task)
        self._began = _cpu_seconds()

    def add_success(self, task: Any) -> None:
        taken = round(_cpu_seconds() - self._began, 2)
        self._spent[task.name] = (taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        Path(SPENT).write_text(json.dumps(self._spent), encoding="utf-8")
        super().add_success(task)


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


DOIT_CONFIG = {**SHIPPED, "reporter": TimedReporter}

__all__ = ["DODO", "DOIT_CONFIG", "SPENT", "TimedReporter", "task_pipeline"]
