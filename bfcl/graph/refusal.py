"""The one place where our refusals meet doit: an action returns `TaskFailed`, and the person reads the problems.

Printed to the real standard error, since doit captures the one that actions see. Rule: generation.md §1, style §2.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from doit.exceptions import TaskFailed

from bfcl.errors import BfclError, visible


def print_problems(error: BfclError) -> None:
    """Every problem as its own block on standard error."""
    stream = sys.__stderr__
    if stream is not None:
        stream.write("".join(f"{visible(str(problem))}\n" for problem in error.problems))
        stream.flush()


def refusing(action: Callable[[], bool | None]) -> Callable[[], Any]:
    """`action` as doit wants it: True, or a quiet `TaskFailed` after the problems were printed.

    An action that returns False has told the person already why the task fails.
    """

    @functools.wraps(action)
    def run() -> Any:
        try:
            good = action()
        except BfclError as error:
            print_problems(error)
            return TaskFailed("refused", report=False)
        return TaskFailed("not good enough", report=False) if good is False else True

    return run
