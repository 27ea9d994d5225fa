"""What stopped a task that the candidate did not stop, and what did a server say last where nothing was answered?

Told by status, size and digest alone: the text of a refusal may echo the credential, and nobody keeps it. Rule:
evaluation.md §5, §9.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Literal, NamedTuple

from bfcl.evaluate.records import TaskScore, attribution
from bfcl.modelio.exchange import Attempt, ChatOutcome

_CALL_FAILED: Final = "candidate_call_failed"
_SHOWN: Final = 3


class Cause(NamedTuple):
    """What stopped a task."""

    words: str
    """The same for all that was stopped alike."""
    kind: Literal["answered", "timeout", "unreached", "episode"]
    """Whether the server's answer did, none within the time, none at all, or something else than a call."""
    http_status: int | None = None


def last_words(outcome: ChatOutcome) -> str:
    """How the last attempt of a call ended, with what is known of the answer, in one line."""
    last = outcome.attempts[-1]
    count = len(outcome.attempts)
    told = cause(last).words
    if last.http_status is not None and last.diagnostic is not None:
        rest = last.diagnostic.removeprefix(f"HTTP {last.http_status}").strip()
        told += f" {rest}" if rest.startswith("(") else f": {rest}"
    return f"{told}, the only attempt" if count == 1 else f"{told}, the last of {count} attempts"


def cause(attempt: Attempt) -> Cause:
    """What ended an attempt: the HTTP status, else what the system says."""
    status = attempt.http_status
    if status is not None:
        return Cause(f"HTTP {status}{_phrase(status)}", "answered", status)
    words = attempt.status if attempt.diagnostic is None else f"{attempt.status} ({attempt.diagnostic})"
    return Cause(words, "timeout" if attempt.status == "timeout" else "unreached")


def stop_cause(score: TaskScore, last: ChatOutcome | None) -> Cause:
    """What stopped a task that the candidate did not stop: how its last attempt ended where a call is what failed.

    Else the episode's status, or the code of what failed in one that ended well. `last` is the outcome of its last
    call, None where that is not on record.
    """
    status = score.episode_status
    if status == _CALL_FAILED:
        return cause(last.attempts[-1]) if last is not None and last.attempts else Cause(status, "unreached")
    if attribution(status) == "infrastructure":
        return Cause(status, "episode")
    return Cause(next((one.code for one in score.failures if one.attribution == "infrastructure"), status), "episode")


def counted(causes: Mapping[Cause, int]) -> str:
    """The most frequent causes with how often each came, in one line; the rest as a number."""
    shown = [f"{one.words}, {causes[one]} times" if causes[one] > 1 else one.words for one in ranked(causes)[:_SHOWN]]
    more = len(causes) - len(shown)
    return "; ".join(shown) + (f"; {more} other{'s' if more > 1 else ''}" if more else "")


def ranked(causes: Mapping[Cause, int]) -> list[Cause]:
    """The most frequent first."""
    return sorted(causes, key=lambda one: (-causes[one], one.words))


def _phrase(status: int) -> str:
    """What a status is called, which says more than its number."""
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
