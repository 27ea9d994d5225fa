"""What did a server say in the end where no attempt of a call was answered? Rule: evaluation.md §5.

Told by status, size and digest alone: the text of a refusal may echo the credential, and nobody keeps it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final

from bfcl.modelio.exchange import Attempt, ChatOutcome
from bfcl.modelio.recorded_chat import Exchange

EXHAUSTED: Final = "retry_exhausted"


def last_words(outcome: ChatOutcome) -> str:
    """How the last attempt of a call ended, with what is known of the answer, in one line."""
    last = outcome.attempts[-1]
    count = len(outcome.attempts)
    told = cause(last)
    if last.http_status is not None and last.diagnostic is not None:
        told += f" {last.diagnostic.removeprefix(f'HTTP {last.http_status}').strip()}"
    return f"{told}, the only attempt" if count == 1 else f"{told}, the last of {count} attempts"


def cause(attempt: Attempt) -> str:
    """What ended an attempt, in the same words for all that ended alike: the HTTP status, else what the system says."""
    if attempt.http_status is not None:
        return f"HTTP {attempt.http_status}{_phrase(attempt.http_status)}"
    return attempt.status if attempt.diagnostic is None else f"{attempt.status} ({attempt.diagnostic})"


def causes(exchanges: Iterable[Exchange]) -> dict[str, Mapping[str, int]]:
    """By alias, how often which cause was the last of a call that no attempt answered."""
    found: dict[str, Counter[str]] = {}
    for exchange in exchanges:
        if exchange.outcome.status == EXHAUSTED:
            counts = found.setdefault(exchange.request.candidate_alias, Counter())
            counts[cause(exchange.outcome.attempts[-1])] += 1
    return {alias: dict(sorted(counts.items())) for alias, counts in sorted(found.items())}


def _phrase(status: int) -> str:
    """What a status is called, which says more than its number."""
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
