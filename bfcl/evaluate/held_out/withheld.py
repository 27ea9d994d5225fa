"""What may a refusal say that comes out of a private task? Its code; its words could quote the task.

Rule: evaluation.md §2, translation.md §13.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Final

from bfcl.errors import BfclError, EvalError, Problem
from bfcl.evaluate.drive.desk import SESSION_FAILED

_OF_ENDPOINTS: Final = ("eval_candidate_", "eval_budget_exhausted")
"""Codes of the client, which speaks of addresses, credentials and counts."""
_TELLING: Final = ("eval_candidate_request_invalid",)
"""Those of them that may speak of a request's content."""


@contextlib.contextmanager
def withheld(what: str) -> Iterator[None]:
    """Pass on what is refused inside without the words of a private task. `what` stands in their place.

    Raises: EvalError with the code that came; `eval_oracle_session_failed` for what an oracle or its pack refuses.
    """
    try:
        yield
    except BfclError as error:
        own = isinstance(error, EvalError)
        told = (_silent(problem, problem.code if own else SESSION_FAILED, what) for problem in error.problems)
        # A traceback must not show what is withheld as the cause.
        raise EvalError(told) from None


def _silent(problem: Problem, code: str, what: str) -> Problem:
    if code.startswith(_OF_ENDPOINTS) and code not in _TELLING:
        return problem
    cause = "" if problem.code == code else f" ({problem.code})"
    message = f"{what}{cause}; what was said of it is withheld, as it may quote a private task"
    fix = "see whether a public task fails alike (`mode: [executable]`): that one says why"
    return dataclasses.replace(
        problem, code=code, message=message, path=None, line=None, column=None, field=None, subject=None, fix=fix
    )
