"""Who asks a candidate over the network, how often, and until when? Rule: evaluation.md §5, translation.md §13.4."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Protocol, Self

from bfcl.digest import sha256_of
from bfcl.errors import EvalError, Problem
from bfcl.modelio.attempts import RETRIED, delay_s, request_id, retry_after_s, status_of, told
from bfcl.modelio.chat_reply import MalformedReply, read_reply
from bfcl.modelio.chat_request import CandidateFields, refuse_foreign
from bfcl.modelio.chat_transport import AsyncTransport
from bfcl.modelio.client import HEADERS
from bfcl.modelio.credential import Credential
from bfcl.modelio.echoed import holds
from bfcl.modelio.exchange import Attempt, CallStatus, ChatOutcome, ChatRequest, ChatResponse, concluded
from bfcl.modelio.transport import Post, Reply, TransportFailure, harmless

CREDENTIALS_MISSING: Final = "eval_candidate_credentials_missing"

_BASE_DELAY_S: Final = 0.25
_AT_ONCE_BYTES: Final = 256 * 1024
"""Up to which size a reply is read where it came in: longer ones would keep every other call waiting."""


class Completing(Protocol):
    """Something that concludes one turn's request."""

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        """How the call ended. `deadline` is a moment of `time.monotonic`.

        Raises: EvalError where the whole run has to stop.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatClock:
    """The time of day, and how to let time pass between attempts. Deadlines are of `time.monotonic`."""

    wall: Callable[[], float] = time.time
    """Seconds since 1970."""
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLimits:
    """How long and how often one candidate is asked."""

    max_retries: int
    timeout_s: float
    """Of all attempts of a call together."""
    max_parallel: int
    """Calls in flight at once."""


class LiveChat:
    """Asks one candidate. Use it as an asynchronous context, or `aclose` it."""

    def __init__(
        self,
        candidate: CandidateFields,
        credential: Credential,
        limits: ChatLimits,
        *,
        clock: ChatClock | None = None,
    ) -> None:
        self._candidate = candidate
        self._credential = credential
        self._limits = limits
        self._transport = AsyncTransport(limits.max_parallel)
        self._clock = clock or ChatClock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Give connections back, when no call is in flight."""
        await self._transport.aclose()

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        """See `Completing.complete`. At least one attempt is begun; a wait that would end too late is not.

        Raises: EvalError `eval_candidate_request_invalid`, `eval_candidate_credentials_missing`,
        `eval_candidate_authentication_failed`.
        """
        refuse_foreign(self._candidate, request)
        secret = self._secret()
        headers = {**HEADERS, "authorization": f"Bearer {secret}"}
        post = Post(f"{request.base_url}/chat/completions", headers, request.body_text.encode())
        ends = min(deadline, time.monotonic() + self._limits.timeout_s)
        attempts: list[Attempt] = []
        while True:
            attempt, response = await self._attempted(post, len(attempts), ends, secret)
            attempts.append(attempt)
            wait = max(
                delay_s(request.request_hash, attempt.attempt_index, _BASE_DELAY_S), attempt.retry_after_s or 0.0
            )
            if (
                not attempt.retryable
                or attempt.attempt_index == self._limits.max_retries
                or time.monotonic() + wait >= ends
            ):
                return concluded(request.request_hash, attempts, response)
            await self._clock.pause(wait)

    async def _attempted(self, post: Post, index: int, ends: float, secret: str) -> tuple[Attempt, ChatResponse | None]:
        """One exchange, and the reply where it is usable. Raises: EvalError `eval_candidate_authentication_failed`."""
        begun = time.monotonic()
        latency_s: float | None = None
        reply: Reply | None = None
        try:
            async with asyncio.timeout(max(ends - begun, 0.0)):
                reply = await self._transport.post(post)
                latency_s = round(time.monotonic() - begun, 6)
                reply = reply._replace(headers=harmless(reply.headers, secret))
                if len(reply.body or b"") <= _AT_ONCE_BYTES:
                    judged = _judged(reply, index, secret)
                else:
                    judged = await asyncio.to_thread(_judged, reply, index, secret)
        except TimeoutError:
            # Also where reading came to no end: nobody knows what such a reply says.
            reply, latency_s, judged = None, None, _Judged("timeout", "no whole answer before the deadline")
        except TransportFailure as failure:
            judged = _Judged(failure.failure, failure.detail)
        if latency_s is None:
            latency_s = round(time.monotonic() - begun, 6)
        if judged.status == "authentication_failed":
            raise EvalError(self._unaccepted(judged.diagnostic))
        return self._told(judged, reply, index, latency_s), judged.response

    def _told(self, judged: _Judged, reply: Reply | None, index: int, latency_s: float) -> Attempt:
        now = self._clock.wall()
        body = None if reply is None else reply.body
        retryable = judged.status in RETRIED
        after = retry_after_s(reply.headers.get("retry-after"), now) if retryable and reply is not None else 0.0
        return Attempt(
            attempt_index=index,
            observed_at=datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
            status=judged.status,
            retryable=retryable,
            http_status=None if reply is None else reply.status,
            latency_s=latency_s,
            raw_response=judged.raw,
            raw_response_hash=None if body is None else sha256_of(body),
            provider_request_id=None if reply is None else request_id(reply),
            diagnostic=judged.diagnostic,
            retry_after_s=after or None,
        )

    def _secret(self) -> str:
        fault = self._credential.fault()
        if fault is None:
            return self._credential.reveal()
        variable = self._credential.variable
        raise EvalError(
            Problem(
                code=CREDENTIALS_MISSING,
                subject=self._candidate.alias,
                field="api.api_key_env",
                message=f"the environment variable {variable} {fault}, and a request is to be sent",
                fix=f"export {variable} with the provider's key, then run the same command again",
            )
        )

    def _unaccepted(self, seen: str | None) -> Problem:
        return Problem(
            code="eval_candidate_authentication_failed",
            subject=self._candidate.alias,
            field="api.api_key_env",
            message=f"the endpoint answered {seen}: it does not accept the credential",
            fix=f"check the key that {self._credential.variable} holds, and what it may use",
        )


@dataclass(frozen=True, slots=True)
class _Judged:
    """What an attempt came to. `raw` is the text of a 200 that may be kept."""

    status: CallStatus
    diagnostic: str | None
    raw: str | None = None
    response: ChatResponse | None = None


def _judged(reply: Reply, index: int, secret: str) -> _Judged:
    status = status_of(reply.status)
    if status != "ok":
        return _Judged(status, told(reply))
    if reply.body is None:
        return _Judged("malformed_response", told(reply))
    try:
        raw = reply.body.decode()
    except UnicodeDecodeError:
        return _Judged("malformed_response", f"{told(reply)} is no UTF-8")
    if holds(raw, secret):
        return _Judged("malformed_response", f"{told(reply)} repeats the credential")
    try:
        response = read_reply(reply.body, selected_attempt=index, provider_request_id=request_id(reply))
    except MalformedReply as malformed:
        return _Judged("malformed_response", str(malformed), raw)
    return _Judged("completed", None, raw, response)
