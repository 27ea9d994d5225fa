"""What a refusal of an evaluation says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bfcl.errors import EvalError, Problem


def refused(act: Callable[[], object]) -> tuple[Problem, ...]:
    """The problems of the refusal that `act` ends in; each has a fix."""
    with pytest.raises(EvalError) as refusal:
        act()
    assert all(problem.fix for problem in refusal.value.problems)
    return refusal.value.problems
