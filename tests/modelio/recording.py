"""A process that records calls: `recording.py FILE OWN COUNT`; it is killed in a write where OWN is `killed`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from bfcl.digest import sha256_of
from bfcl.modelio.attempts import RETRIED
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.modelio.chat_reply import read_reply
from bfcl.modelio.exchange import Attempt, CallStatus, ChatOutcome, ChatRequest, concluded

KILLED = "killed"
RAW = '{"choices":[{"message":{"content":"đốt"}}]}'
BROKEN = "garbage"
ALL: tuple[CallStatus, ...] = ("completed", "malformed_response", "provider_rejected", "retry_exhausted")
"""Every way in which a call is concluded."""


def request(task_id: str) -> ChatRequest:
    return ChatRequest(
        request_id=f"kiln:{task_id}:0",
        candidate_alias="kiln",
        canonical_model_identity="hub:kiln@provider_managed",
        task_id=task_id,
        turn_index=0,
        provider="hub",
        provider_api_version="v1",
        base_url="http://127.0.0.1:1/v1",
        model="kiln",
        body={"model": "kiln", "messages": [{"role": "user", "content": "đốt"}], "temperature": 0.0},
    )


def attempt(index: int, status: CallStatus, http_status: int | None = None, raw: str | None = None) -> Attempt:
    return Attempt(
        attempt_index=index,
        observed_at="2001-09-09T01:46:40.000+00:00",
        status=status,
        retryable=status in RETRIED,
        http_status=http_status,
        latency_s=0.25,
        raw_response=raw,
        raw_response_hash=None if raw is None else sha256_of(raw.encode()),
        provider_request_id="r-1" if http_status else None,
        diagnostic=None if status == "completed" else "as it was",
        retry_after_s=None,
    )


def outcome(task_id: str, status: CallStatus = "completed", before: int = 0) -> ChatOutcome:
    """A call that ended so, after some attempts that were limited."""
    attempts = [attempt(index, "rate_limited", 429) for index in range(before)]
    response = None
    match status:
        case "completed":
            attempts.append(attempt(before, status, 200, RAW))
            response = read_reply(RAW.encode(), selected_attempt=before, provider_request_id="r-1")
        case "malformed_response":
            attempts.append(attempt(before, status, 200, BROKEN))
        case "provider_rejected":
            attempts.append(attempt(before, status, 400))
        case _:
            attempts.append(attempt(before, "timeout"))
    return concluded(request(task_id).request_hash, attempts, response)


def filled(path: Path, *calls: tuple[str, ChatOutcome]) -> CandidateCache:
    """A file that records these calls."""

    async def put() -> CandidateCache:
        cache = CandidateCache(path)
        for task_id, told in calls:
            await cache.put(request(task_id), told)
        return cache

    return asyncio.run(put())


async def main(path: Path, own: str, count: int) -> None:
    cache = CandidateCache(path)
    if own == KILLED:
        write = os.write

        def part(descriptor: int, data: bytes) -> int:
            write(descriptor, data[: len(data) // 3])
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError

        os.write = part  # type: ignore[assignment]
    for number in range(count):
        for task_id in (f"{own} {number}", f"both {number}"):
            await cache.put(request(task_id), outcome(task_id))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
