"""What is on record of the last attempt where nothing answered a failed task? Rule: evaluation.md §5, §16.3."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from bfcl.evaluate.after.failures import Failure
from bfcl.evaluate.run.unanswered import last_words
from bfcl.modelio.candidate_cache import CandidateCache


def with_last_attempts(failures: Iterable[Failure], calls: CandidateCache) -> Iterator[Failure]:
    """The same failures, one at a time; those whose turn got no reply know how the last attempt at it ended."""
    for failure in failures:
        turn = failure.turn
        found = None if turn is None or turn.response is not None else calls.exchange(turn.request_hash)
        if found is None or not found.outcome.attempts:
            yield failure
        else:
            yield dataclasses.replace(failure, last_attempt=last_words(found.outcome))
