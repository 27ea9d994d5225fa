"""What is one exchange with a candidate: the request, its attempts, and the reply as it was read once?

Rule: evaluation.md §5, translation.md §13.6. JSON forms here are those of `candidate_io_cache.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import Digest, sha256_json, sha256_of
from bfcl.modelio.spliced import spliced

SCHEMA_VERSION: Final = "1.0"

ArgumentsStatus = Literal["valid_object", "invalid_json", "json_not_object", "missing", "wrong_type"]
CallStatus = Literal[
    "completed",
    "malformed_response",
    "authentication_failed",
    "rate_limited",
    "provider_unavailable",
    "provider_rejected",
    "timeout",
    "transport_error",
    "retry_exhausted",
    "cancelled",
]
CUT_OFF: Final = frozenset({"length", "max_tokens", "max_output_tokens", "content_filter"})
"""Finish reasons, normalised, that say the reply was cut off."""
MOST_TOKENS: Final = 2**53
"""A larger whole number is no count of tokens: sums could not be written down, nor read exactly."""


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One assistant turn asked of one candidate. `request_id` is `<alias>:<task_id>:<turn>`, with `:t<k>` for k > 0."""

    request_id: str
    candidate_alias: str
    canonical_model_identity: str
    task_id: str
    turn_index: int
    provider: str
    provider_api_version: str
    base_url: str
    model: str
    body: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        """The object that `request_hash` is of; no path and no time in it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "request_id": self.request_id,
            "candidate_alias": self.candidate_alias,
            "canonical_model_identity": self.canonical_model_identity,
            "task_id": self.task_id,
            "turn_index": self.turn_index,
            "provider": self.provider,
            "provider_api_version": self.provider_api_version,
            "base_url": self.base_url,
            "model": self.model,
            "body": self.body,
        }

    @cached_property
    def body_text(self) -> str:
        """Canonical JSON of the body: what is sent. Raises: ValueError where JSON in UTF-8 cannot carry it."""
        return canonical_text(self.body)

    @cached_property
    def text(self) -> bytes:
        """Canonical JSON of `to_json`."""
        parts = {name: canonical_json(value) for name, value in self.to_json().items() if name != "body"}
        return spliced({**parts, "body": self.body_text.encode()})

    @cached_property
    def request_hash(self) -> Digest:
        """Of `to_json`: the key of all that is recorded of the call."""
        return sha256_of(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a reply, arguments parsed once and never repaired."""

    index: int
    id: str | None
    type: str | None
    function_name: str
    raw_arguments: Json
    """As sent: a text where the provider keeps to the protocol."""
    parsed_arguments: Mapping[str, Json] | None
    """The object, exactly when the status is `valid_object`."""
    arguments_status: ArgumentsStatus

    def to_json(self) -> dict[str, Json]:
        return {
            "index": self.index,
            "id": self.id,
            "type": self.type,
            "function_name": self.function_name,
            "raw_arguments": self.raw_arguments,
            "parsed_arguments": self.parsed_arguments,
            "arguments_status": self.arguments_status,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """A usable reply."""

    provider_response_id: str | None
    provider_request_id: str | None
    assistant_content: Json
    """As sent: null, a text, or whatever structure the provider uses."""
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    """Normalised: lower case, `-` and blanks as `_`."""
    usage: Mapping[str, Json] | None
    selected_attempt: int
    raw_response_hash: Digest

    @property
    def incomplete(self) -> bool:
        """Whether the provider says that it cut the reply off."""
        return self.finish_reason in CUT_OFF

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Of the prompt and of the completion, each None where the provider tells no count; never a guess."""
        return self._told("prompt_tokens"), self._told("completion_tokens")

    @property
    def total_tokens(self) -> int | None:
        """As the provider tells it, None where that is no count."""
        return self._told("total_tokens")

    def _told(self, name: str) -> int | None:
        count = None if self.usage is None else self.usage.get(name)
        return count if type(count) is int and 0 <= count <= MOST_TOKENS else None

    @property
    def response_hash(self) -> Digest:
        """Of `to_json`."""
        return sha256_json(self.to_json())

    def to_json(self) -> dict[str, Json]:
        return {
            "provider_response_id": self.provider_response_id,
            "provider_request_id": self.provider_request_id,
            "assistant_content": self.assistant_content,
            "tool_calls": [call.to_json() for call in self.tool_calls],
            "finish_reason": self.finish_reason,
            "usage": self.usage,
            "selected_attempt": self.selected_attempt,
            "raw_response_hash": self.raw_response_hash,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One HTTP exchange, or the try at one. `raw_response` is kept of HTTP 200 only: an error may echo a credential."""

    attempt_index: int
    observed_at: str
    """UTC, ISO 8601."""
    status: CallStatus
    retryable: bool
    http_status: int | None
    latency_s: float
    raw_response: str | None
    raw_response_hash: Digest | None
    provider_request_id: str | None
    diagnostic: str | None
    """In our words; never the provider's text."""
    retry_after_s: float | None

    def to_json(self, *, raw: bool = True) -> dict[str, Json]:
        """The cache's payload; without `raw_response` where an outcome cites it."""
        told: dict[str, Json] = {
            "attempt_index": self.attempt_index,
            "observed_at": self.observed_at,
            "status": self.status,
            "retryable": self.retryable,
            "http_status": self.http_status,
            "latency_s": self.latency_s,
            "raw_response_hash": self.raw_response_hash,
            "provider_request_id": self.provider_request_id,
            "diagnostic": self.diagnostic,
            "retry_after_s": self.retry_after_s,
        }
        if raw:
            told["raw_response"] = self.raw_response
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOutcome:
    """How a concluded call ended. `response` is there exactly when the status is `completed`."""

    request_hash: Digest
    status: CallStatus
    attempts: tuple[Attempt, ...]
    response: ChatResponse | None
    replayed: bool
    """Read from a cache. No part of what is stored or hashed."""

    def to_json(self) -> dict[str, Json]:
        """The cache's payload of a completion, `replayed` as false."""
        return {
            "schema_version": SCHEMA_VERSION,
            "request_hash": self.request_hash,
            "status": self.status,
            "attempts": [attempt.to_json(raw=False) for attempt in self.attempts],
            "response": None if self.response is None else self.response.to_json(),
            "replayed": False,
        }


def concluded(
    request_hash: Digest, attempts: Sequence[Attempt], response: ChatResponse | None, *, replayed: bool = False
) -> ChatOutcome:
    """What the attempts of a call come to: as the last one ended, `retry_exhausted` where that was passing."""
    last = attempts[-1]
    return ChatOutcome(
        request_hash=request_hash,
        status="retry_exhausted" if last.retryable else last.status,
        attempts=tuple(attempts),
        response=response,
        replayed=replayed,
    )
