"""The one place where our refusals meet doit: an action returns `TaskFailed`, and the person reads the problems.

Printed to the real standard error, since doit captures the one that actions see. Rule: generation.md §1, style §2.
"""

from __future__ import annotations

import functools
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from doit.exceptions import TaskFailed

from bfcl.errors import BfclError, Problem, visible

_COMMAND = re.compile(r"`(doit (?:all|generate|prepare|clean [a-z_]+|clean -a)\b[^`]*)`")


def print_problems(error: BfclError, given: Mapping[str, str]) -> None:
    """Every problem as its own block on standard error; `given` are the variables of the command line."""
    stream = sys.__stderr__
    if stream is not None:
        stream.write("".join(f"{visible(str(pasteable(problem, given)))}\n" for problem in error.problems))
        stream.flush()


def pasteable(problem: Problem, given: Mapping[str, str]) -> Problem:
    """The problem with commands in its fix that mean the configuration of this command line and no other."""
    config = given.get("config")
    if config is None or problem.fix is None:
        return problem
    named = shlex.quote(f"config={config}")

    def told(found: re.Match[str]) -> str:
        return found[0] if "config=" in found[1] else f"`{found[1]} {named}`"

    return replace(problem, fix=_COMMAND.sub(told, problem.fix))


def refusing(action: Callable[[], bool | None], given: Mapping[str, str]) -> Callable[[], Any]:
    """`action` as doit wants it: True, or a quiet `TaskFailed` after the problems were printed.

    An action that returns False has told the person already why the task fails.
    """

    @functools.wraps(action)
    def run() -> Any:
        try:
            good = action()
        except BfclError as error:
            print_problems(error, given)
            return TaskFailed("refused", report=False)
        return TaskFailed("not good enough", report=False) if good is False else True

    return run
