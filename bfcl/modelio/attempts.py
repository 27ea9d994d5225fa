"""How often is a request tried, how long is waited between, and what is told in the end? Rule: translation.md §13.4."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeAlias

from bfcl.digest import Digest, sha256_bytes, sha256_of
from bfcl.errors import ModelError, Problem
from bfcl.modelio.transport import Failure, Reply, TransportFailure

Status: TypeAlias = Literal["ok", "rate_limited", "provider_unavailable", "authentication_failed", "provider_rejected"]

RETRIED: Final = frozenset({"timeout", "transport_error", "rate_limited", "provider_unavailable"})
_STATUSES: Final[Mapping[int, Status]] = {
    200: "ok",
    **dict.fromkeys((401, 403), "authentication_failed"),
    429: "rate_limited",
    **dict.fromkeys((408, 500, 502, 503, 504), "provider_unavailable"),
}
_LONGEST_S: Final = 999_999_999.0
_LONGEST_ATTEMPT_S: Final = 1e6
"""Sockets can be told to wait for some 24 days."""
_DOUBLINGS: Final = 64
"""Beyond these every wait is the longest, and floats would end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How much is borne before a request is given up. Seconds."""

    timeout_s: float = 60.0
    """For one attempt."""
    max_retries: int = 5
    base_delay_s: float = 0.5
    deadline_s: float = 600.0
    """For all attempts of one request and the waits between: a wait that would end later is not begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What time it is, and how to let it pass. Waits decide when something is asked, never what is answered."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    """Seconds since 1970: servers may name a moment to come back at."""
    pause: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is being asked, as refusals name it and waits are drawn from it."""

    subject: str
    """`<provider>/<model>`."""
    request_hash: Digest


def attempted(send: Callable[[float], Reply], asked: Asked, patience: Patience, clock: Clock) -> Reply:
    """Send, given an attempt's timeout, until an answer with status 200 comes; that answer.

    Raises: ModelError `authentication_failed` and `provider_rejected` at once, `retry_exhausted` when attempts or time
    are spent. None tells a word of the answer's body.
    """
    ends = clock.monotonic() + patience.deadline_s
    for index in range(1 + patience.max_retries):
        status: Status | Failure
        after = 0.0
        try:
            reply = send(min(patience.timeout_s, max(ends - clock.monotonic(), 0.001), _LONGEST_ATTEMPT_S))
        except TransportFailure as failure:
            status, seen = failure.failure, f"{failure.failure} ({failure.detail})"
        else:
            status, seen = status_of(reply.status), told(reply)
            if status == "ok":
                return reply
            if status in RETRIED:
                after = retry_after_s(reply.headers.get("retry-after"), clock.wall())
        if status not in RETRIED:
            raise ModelError(_final(status, seen, asked))
        wait = max(delay_s(asked.request_hash, index, patience.base_delay_s), after)
        if index == patience.max_retries or clock.monotonic() + wait >= ends:
            raise ModelError(_exhausted(index + 1, seen, asked, wait=wait if index < patience.max_retries else None))
        clock.pause(wait)
    raise AssertionError("every attempt returns or raises")


def status_of(http_status: int) -> Status:
    """What an HTTP status means for a request."""
    return _STATUSES.get(http_status, "provider_rejected")


def delay_s(request_hash: str, index: int, base_s: float) -> float:
    """How long to wait after the attempt of that index, from 0: doubling, spread by a quarter to either side.

    Never longer than a timer can be set for, which is some 30 years.
    """
    spread = int.from_bytes(sha256_bytes(f"{request_hash}:{index}".encode())[:2], "big") / 65535
    return min(float(base_s * 2 ** min(index, _DOUBLINGS) * (0.75 + 0.5 * spread)), _LONGEST_S)


def retry_after_s(header: str | None, now: float) -> float:
    """Seconds that a `Retry-After` asks for, as seconds or as an HTTP date; 0 for none and for nonsense.

    At most 999,999,999: longer than any deadline is all the same.
    """
    if header is None:
        return 0.0
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text), _LONGEST_S)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return min(max(moment.timestamp() - now, 0.0), _LONGEST_S)
    except (ValueError, TypeError, IndexError, OverflowError):
        # All of these are what the parser raises for one text or another.
        return 0.0


def told(reply: Reply) -> str:
    """An answer by its status, the size and digest of its body, and the server's own name for it."""
    body = "over 16 MiB or encoded" if reply.body is None else f"{len(reply.body)} bytes, {sha256_of(reply.body)}"
    name = request_id(reply)
    return f"HTTP {reply.status} ({body}{f', request id {name}' if name else ''})"


def request_id(reply: Reply) -> str | None:
    """The server's own name for the exchange, where it gave one."""
    return next((reply.headers[key] for key in reply.headers if key.endswith("request-id")), None)


def _final(status: Status | Failure, seen: str, asked: Asked) -> Problem:
    if status == "authentication_failed":
        return Problem(
            code="authentication_failed",
            message=f"answered {seen}: it does not accept the credential",
            subject=asked.subject,
            fix="check the variable that `api_key` of the provider names, and what that key may use",
        )
    return Problem(
        code="provider_rejected",
        message=f"answered {seen}; expected 200, and asking again would change nothing",
        subject=asked.subject,
        fix="check `endpoint` of the provider and the name of the model; redirects are not followed",
    )


def _exhausted(attempts: int, seen: str, asked: Asked, *, wait: float | None) -> Problem:
    tries = f"{attempts} attempt{'s' if attempts > 1 else ''}"
    late = "" if wait is None else f", and the next, {wait:.0f} s later, would come too late"
    return Problem(
        code="retry_exhausted",
        message=f"no answer after {tries}; the last one ended in {seen}{late}",
        subject=asked.subject,
        fix="run the same command again once the provider answers; what it has answered so far is kept",
    )
