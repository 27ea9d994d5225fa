from __future__ import annotations

from dataclasses import replace

import pytest

from bfcl.evaluate.run.unanswered import cause, causes, last_words
from bfcl.modelio.exchange import Attempt, CallStatus, ChatOutcome
from bfcl.modelio.recorded_chat import Exchange
from tests.evaluate.driven import answering, one_group, outcome_of, play

HTTP_500 = "HTTP 500 (92 bytes, sha256:ab)"


def attempt(index: int = 0, *, status: int | None = 500, diagnostic: str | None = HTTP_500) -> Attempt:
    return Attempt(
        attempt_index=index,
        observed_at="2026-01-01T00:00:00+00:00",
        status="provider_unavailable" if status is not None else "transport_error",
        retryable=True,
        http_status=status,
        latency_s=0.1,
        raw_response=None,
        raw_response_hash=None,
        provider_request_id=None,
        diagnostic=diagnostic,
        retry_after_s=None,
    )


def exchange(*attempts: Attempt, alias: str = "small", status: CallStatus = "retry_exhausted") -> Exchange:
    """A call of this candidate that ended so."""
    client = answering(one_group(), {0: status})
    play(one_group(), client)
    (request,) = client.requests
    told = replace(outcome_of(request, status), attempts=attempts)
    return Exchange(replace(request, candidate_alias=alias), told)


def outcome(*attempts: Attempt) -> ChatOutcome:
    return exchange(*attempts).outcome


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (attempt(), "HTTP 500 Internal Server Error"),
        (attempt(status=599), "HTTP 599"),
        (attempt(status=None, diagnostic="connection refused"), "transport_error (connection refused)"),
        (attempt(status=None, diagnostic=None), "transport_error"),
    ],
)
def test_cause_is_the_status_by_name_or_what_the_system_says(one: Attempt, told: str) -> None:
    assert cause(one) == told


def test_last_words_tell_status_size_digest_and_how_often_it_was_tried() -> None:
    assert last_words(outcome(attempt(0, status=None), attempt(1))) == (
        "HTTP 500 Internal Server Error (92 bytes, sha256:ab), the last of 2 attempts"
    )
    assert last_words(outcome(attempt(status=None, diagnostic="connection refused"))) == (
        "transport_error (connection refused), the only attempt"
    )


def test_causes_are_counted_by_candidate_of_calls_that_nothing_answered() -> None:
    refused = attempt(status=None, diagnostic="connection refused")
    found = causes(
        [
            exchange(attempt()),
            exchange(refused, attempt(1), alias="big"),
            exchange(attempt()),
            exchange(refused),
            exchange(attempt(), status="provider_rejected"),
        ]
    )
    assert found == {
        "big": {"HTTP 500 Internal Server Error": 1},
        "small": {"HTTP 500 Internal Server Error": 2, "transport_error (connection refused)": 1},
    }
