"""Do results that are to be held against others follow from their records? Rule: evaluation.md §12, §16.2, §16.4.

Report, table and manifest can be forged together; the hash of an aggregate is of scores that only the records give.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.after.verify import verify_evaluation


def has_records(directory: Path, whereabouts: Whereabouts | None = None) -> bool:
    """Whether an evaluation was told to keep what its results are made of. Raises: as `recorded_settings`."""
    settings = recorded_settings(directory, whereabouts)
    outputs = settings.outputs
    return outputs.cache_candidate_responses and (outputs.cache_tool_results or not settings.executable)


def require_upheld(directories: Iterable[Path], whereabouts: Whereabouts | None = None) -> None:
    """Verify each directory once.

    Raises: EvalError with everything that does not hold, as `verify_evaluation`.
    """
    problems: list[Problem] = []
    for directory in dict.fromkeys(directories):
        try:
            verify_evaluation(directory, whereabouts)
        except EvalError as error:
            problems += error.problems
    raise_all(EvalError, problems)
