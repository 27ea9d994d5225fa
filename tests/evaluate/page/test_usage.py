"""Calls added up: tokens that are told, latencies by nearest rank, refusals by HTTP status."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_of
from bfcl.evaluate.page.usage import usage_of
from bfcl.modelio.exchange import Attempt, CallStatus, ChatOutcome, ChatResponse, concluded

FULL: Mapping[str, Json] = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}


def attempt(index: int, status: CallStatus, latency_s: float, http_status: int | None = None) -> Attempt:
    return Attempt(
        attempt_index=index,
        observed_at="2026-01-01T00:00:00+00:00",
        status=status,
        retryable=status in ("rate_limited", "timeout"),
        http_status=http_status,
        latency_s=latency_s,
        raw_response=None,
        raw_response_hash=None,
        provider_request_id=None,
        diagnostic=None,
        retry_after_s=None,
    )


def replied(latency_s: float, usage: Mapping[str, Json] | None = FULL, *before: Attempt) -> ChatOutcome:
    response = ChatResponse(
        provider_response_id=None,
        provider_request_id=None,
        assistant_content="Yes.",
        tool_calls=(),
        finish_reason="stop",
        usage=usage,
        selected_attempt=len(before),
        raw_response_hash=sha256_of(b"raw"),
    )
    return concluded(Digest("sha256:0"), [*before, attempt(len(before), "completed", latency_s, 200)], response)


def refused(status: CallStatus, http_status: int | None = None) -> ChatOutcome:
    return concluded(Digest("sha256:0"), [attempt(0, status, 9.0, http_status)], None)


def test_usage_counts_tokens_and_times_of_replies_alone() -> None:
    usage = usage_of([replied(0.2), replied(0.1, FULL, attempt(0, "rate_limited", 5.0, 429)), refused("timeout")])
    assert (usage.calls, usage.requests, usage.replies, usage.silent) == (3, 4, 2, 0)
    assert (usage.input_tokens, usage.output_tokens) == (20, 6)
    assert usage.latencies_ms == (100.0, 200.0)
    assert usage.statuses == {"retry_exhausted": 1}
    assert usage.rejections == {}


@pytest.mark.parametrize(
    "told",
    [None, {}, {"prompt_tokens": 10}, {**FULL, "completion_tokens": True}, {**FULL, "prompt_tokens": -1}],
    ids=["none", "empty", "one", "bool", "negative"],
)
def test_usage_invents_no_tokens(told: Mapping[str, Json] | None) -> None:
    usage = usage_of([replied(0.1, told), replied(0.1)])
    assert (usage.silent, usage.input_tokens, usage.output_tokens) == (1, 10, 3)


def test_usage_tallies_provider_refusals_by_http_status() -> None:
    refusals = [refused("provider_rejected", status) for status in (404, 400, 400, None)]
    usage = usage_of([*refusals, refused("malformed_response", 200)])
    assert usage.rejections == {"400": 2, "404": 1, "unknown": 1}
    assert usage.statuses == {"malformed_response": 1, "provider_rejected": 4}


def test_latency_is_the_nearest_rank_and_none_of_nothing() -> None:
    usage = usage_of([replied(number / 1000) for number in range(20, 0, -1)])
    assert (usage.latency_ms(50), usage.latency_ms(95), usage.latency_ms(100)) == (10.0, 19.0, 20.0)
    assert usage_of([]).latency_ms(50) is None
