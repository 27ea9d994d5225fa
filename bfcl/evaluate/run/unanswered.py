"""What stopped a task that the candidate did not stop, and what did a server say last where nothing was answered?

Told by status, size and digest alone: the text of a refusal may echo the credential, and nobody keeps it. Rule:
evaluation.md §5, §9.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from bfcl.evaluate.records import TaskScore, attribution
from bfcl.modelio.exchange import Attempt, ChatOutcome

_CALL_FAILED: Final = "candidate_call_failed"
_SHOWN: Final = 3


def last_words(outcome: ChatOutcome) -> str:
    """How the last attempt of a call ended, with what is known of the answer, in one line."""
    last = outcome.attempts[-1]
    count = len(outcome.attempts)
    told = cause(last)
    if last.http_status is not None and last.diagnostic is not None:
        rest = last.diagnostic.removeprefix(f"HTTP {last.http_status}").strip()
        told += f" {rest}" if rest.startswith("(") else f": {rest}"
    return f"{told}, the only attempt" if count == 1 else f"{told}, the last of {count} attempts"


def cause(attempt: Attempt) -> str:
    """What ended an attempt, in the same words for all that ended alike: the HTTP status, else what the system says."""
    if attempt.http_status is not None:
        return f"HTTP {attempt.http_status}{_phrase(attempt.http_status)}"
    return attempt.status if attempt.diagnostic is None else f"{attempt.status} ({attempt.diagnostic})"


def stop_cause(score: TaskScore, last: ChatOutcome | None) -> str:
    """What stopped a task that the candidate did not stop: how its last attempt ended where a call is what failed.

    Else the episode's status, or the code of what failed in one that ended well. `last` is the outcome of its last
    call, None where that is not on record.
    """
    status = score.episode_status
    if status == _CALL_FAILED and last is not None and last.attempts:
        return cause(last.attempts[-1])
    if attribution(status) == "infrastructure":
        return status
    return next((one.code for one in score.failures if one.attribution == "infrastructure"), status)


def counted(causes: Mapping[str, int]) -> str:
    """The most frequent causes with how often each came, in one line; the rest as a number."""
    ranked = sorted(causes.items(), key=lambda one: (-one[1], one[0]))
    shown = [f"{name}, {count} times" if count > 1 else name for name, count in ranked[:_SHOWN]]
    more = len(ranked) - len(shown)
    return "; ".join(shown) + (f"; {more} others" if more else "")


def _phrase(status: int) -> str:
    """What a status is called, which says more than its number."""
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
