"""What did a candidate's answers cost, and how long did they take? Tokens and seconds, never invented money.

Rule: evaluation.md §12, §17.9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bfcl.evaluate.after.measurements import nearest_rank
from bfcl.modelio.exchange import ChatOutcome

_REJECTED: Final = "provider_rejected"
_UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Over every concluded call of one candidate, all trials together."""

    calls: int
    requests: int
    """HTTP requests: calls and their further attempts."""
    replies: int
    """Calls that ended with a usable reply."""
    input_tokens: int
    output_tokens: int
    silent: int
    """Replies that do not tell whole numbers for both, which are in neither sum."""
    latencies_ms: tuple[float, ...]
    """Of the attempt that brought each reply, ascending."""
    statuses: Mapping[str, int]
    """Calls that did not end with a usable reply, by how they ended, names sorted."""
    rejections: Mapping[str, int]
    """Calls that the provider refused, by HTTP status, sorted."""

    def latency_ms(self, percent: int) -> float | None:
        """Nearest rank; None without a reply."""
        return nearest_rank(self.latencies_ms, percent)


def usage_of(outcomes: Iterable[ChatOutcome]) -> Usage:
    """Add up calls in any order."""
    calls = requests = silent = inputs = outputs = 0
    latencies: list[float] = []
    statuses: Counter[str] = Counter()
    rejections: Counter[str] = Counter()
    for outcome in outcomes:
        calls += 1
        requests += len(outcome.attempts)
        if outcome.status == _REJECTED:
            status = outcome.attempts[-1].http_status if outcome.attempts else None
            rejections[_UNKNOWN if status is None else str(status)] += 1
        response = outcome.response
        if response is None:
            statuses[outcome.status] += 1
            continue
        prompt, completion = response.tokens
        if prompt is None or completion is None:
            silent += 1
        else:
            inputs += prompt
            outputs += completion
        latencies += [
            attempt.latency_s * 1000
            for attempt in outcome.attempts
            if attempt.attempt_index == response.selected_attempt
        ]
    return Usage(
        calls=calls,
        requests=requests,
        replies=calls - statuses.total(),
        input_tokens=inputs,
        output_tokens=outputs,
        silent=silent,
        latencies_ms=tuple(sorted(latencies)),
        statuses=dict(sorted(statuses.items())),
        rejections=dict(sorted(rejections.items())),
    )
