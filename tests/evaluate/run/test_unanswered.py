from __future__ import annotations

from dataclasses import replace

import pytest

from bfcl.evaluate.records import FailureRecord, TaskScore
from bfcl.evaluate.run.unanswered import Cause, cause, counted, last_words, stop_cause
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.score.taxonomy import ASSERTION_INFRASTRUCTURE_ERROR
from bfcl.modelio.exchange import Attempt, CallStatus, ChatOutcome
from tests.evaluate.driven import SCORING, Answer, answering, one_group, outcome_of, play

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


def outcome(*attempts: Attempt, status: CallStatus = "retry_exhausted") -> ChatOutcome:
    """A call that ended so."""
    client = answering(one_group(), {0: status})
    play(one_group(), client)
    (request,) = client.requests
    return replace(outcome_of(request, status), attempts=attempts)


def scored(told: Answer) -> TaskScore:
    """A task whose first turn got this answer."""
    return score_episode(one_group(), play(one_group(), answering(one_group(), {0: told})), SCORING)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (attempt(), Cause("HTTP 500 Internal Server Error", "answered", 500)),
        (attempt(status=599), Cause("HTTP 599", "answered", 599)),
        (
            attempt(status=None, diagnostic="connection refused"),
            Cause("transport_error (connection refused)", "unreached"),
        ),
        (attempt(status=None, diagnostic=None), Cause("transport_error", "unreached")),
        (replace(attempt(status=None, diagnostic="9 s"), status="timeout"), Cause("timeout (9 s)", "timeout")),
    ],
)
def test_cause_is_the_status_by_name_or_what_the_system_says(one: Attempt, told: Cause) -> None:
    assert cause(one) == told


def test_last_words_tell_status_size_digest_and_how_often_it_was_tried() -> None:
    assert last_words(outcome(attempt(0, status=None), attempt(1))) == (
        "HTTP 500 Internal Server Error (92 bytes, sha256:ab), the last of 2 attempts"
    )
    assert last_words(outcome(attempt(status=None, diagnostic="connection refused"))) == (
        "transport_error (connection refused), the only attempt"
    )
    assert last_words(outcome(attempt(status=200, diagnostic="`choices` is no list"))) == (
        "HTTP 200 OK: `choices` is no list, the only attempt"
    )


def test_stop_is_put_down_to_the_last_attempt_where_a_call_is_what_failed() -> None:
    score = scored("retry_exhausted")
    refused = attempt(status=None, diagnostic="connection refused")
    assert stop_cause(score, outcome(refused, attempt(1))) == Cause("HTTP 500 Internal Server Error", "answered", 500)
    rejected = outcome(attempt(status=400), status="provider_rejected")
    assert stop_cause(scored("provider_rejected"), rejected) == Cause("HTTP 400 Bad Request", "answered", 400)
    assert stop_cause(score, None) == stop_cause(score, outcome()) == Cause("candidate_call_failed", "unreached")


def test_stop_by_the_oracle_is_put_down_to_it_whatever_was_answered_last() -> None:
    score = replace(scored("retry_exhausted"), episode_status="oracle_timeout")
    assert stop_cause(score, outcome(attempt())) == Cause("oracle_timeout", "episode")


def test_stop_of_an_episode_that_ended_well_is_put_down_to_what_failed_in_it() -> None:
    failures = (
        FailureRecord(layer="gate", code="arguments_mismatch", attribution="candidate", subject="arguments"),
        FailureRecord(
            layer="gate", code=ASSERTION_INFRASTRUCTURE_ERROR, attribution="infrastructure", subject="assertions"
        ),
    )
    score = replace(scored("retry_exhausted"), episode_status="completed", failures=failures)
    assert stop_cause(score, None) == Cause("executable.assertion_infrastructure_error", "episode")


def test_only_the_most_frequent_causes_are_listed() -> None:
    causes = {Cause(words, "unreached"): count for words, count in (("c", 1), ("a", 4), ("b", 2), ("d", 1), ("e", 1))}
    assert counted(causes) == "a, 4 times; b, 2 times; c; 2 others"
    assert counted(dict([*causes.items()][:4])) == "a, 4 times; b, 2 times; c; 1 other"
    assert counted({Cause("a", "timeout"): 1}) == "a"
