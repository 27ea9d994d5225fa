"""A failed task that nothing answered tells how the last attempt ended, from the record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from bfcl.evaluate.after.failures import Episode, Failure, failure_json, failure_of
from bfcl.evaluate.after.failures_page import failures_page
from bfcl.evaluate.after.last_attempts import with_last_attempts
from bfcl.evaluate.score.episode import score_episode
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.modelio.exchange import Attempt, concluded
from tests.evaluate.driven import SCORING, Answer, answering, one_group, play
from tests.evaluate.score.episodes import ANSWERS

DIAGNOSTIC = "HTTP 500 (31 bytes, sha256:ab, request id req-7)"


def attempt(index: int) -> Attempt:
    return Attempt(
        attempt_index=index,
        observed_at="2026-01-01T00:00:00+00:00",
        status="provider_unavailable",
        retryable=True,
        http_status=500,
        latency_s=0.1,
        raw_response=None,
        raw_response_hash=None,
        provider_request_id="req-7",
        diagnostic=DIAGNOSTIC,
        retry_after_s=None,
    )


def failed(answer: Answer, path: Path, *, recorded: bool = True) -> Failure:
    """A task whose first turn is answered so, and which is on record with two attempts."""
    of = one_group()
    client = answering(of, {0: answer})
    evidence = play(of, client)
    calls = CandidateCache(path)
    if recorded:
        request = client.requests[0]
        outcome = concluded(request.request_hash, [attempt(0), attempt(1)], None)
        asyncio.run(calls.put(request, outcome))
    score = score_episode(of, evidence, SCORING)
    failure = failure_of(Episode(script=of, evidence=evidence, score=score, prompt_of=lambda _: None), SCORING)
    assert failure is not None
    (told,) = with_last_attempts([failure], calls)
    assert told == replace(failure, last_attempt=told.last_attempt)
    return told


def test_last_attempt_is_told_with_status_size_digest_and_request_id(tmp_path: Path) -> None:
    told = failed("retry_exhausted", tmp_path / "calls.jsonl")
    words = "HTTP 500 Internal Server Error (31 bytes, sha256:ab, request id req-7), the last of 2 attempts"
    assert told.last_attempt == failure_json(told)["last_attempt"] == words
    assert f"- the endpoint: `{words}`\n" in failures_page("small", [told], tasks=1, trials=1)


def test_reply_or_a_call_that_is_not_on_record_has_none(tmp_path: Path) -> None:
    for told in (
        failed(ANSWERS["wrong_value"], tmp_path / "replied.jsonl"),
        failed("retry_exhausted", tmp_path / "absent.jsonl", recorded=False),
    ):
        assert told.last_attempt is None
        assert "- the endpoint" not in failures_page("small", [told], tasks=1, trials=1)
