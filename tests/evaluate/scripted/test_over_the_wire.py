"""Scripted candidates as the real client and the real driver meet them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.results import RecordedResults
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import EpisodeEvidence
from bfcl.evaluate.scripted.server import Conduct, Serving, serve
from bfcl.modelio.chat_live import ChatLimits, LiveChat
from bfcl.modelio.credential import Credential
from tests.evaluate import driven
from tests.evaluate.scripted.rows import rows

CONDUCT = Conduct(retry_after_s=0, drip_s=0.001)


async def play(serving: Serving, model: str, *, retries: int, timeout_s: float) -> list[EpisodeEvidence]:
    """Every task at once, against a server that listens."""
    candidate = replace(driven.candidate(), base_url=serving.base_url, model=model)
    credential = Credential("SMALL_KEY", {"SMALL_KEY": "canary"})
    limits = ChatLimits(max_retries=retries, timeout_s=timeout_s, max_parallel=8)
    async with LiveChat(candidate, credential, limits) as client:
        asking = Asking(candidate=candidate, client=client, mode="trace")
        episodes = [
            drive(read_script(row), asking, RecordedResults(), driven.SCORING, driven.LIMITS) for row in rows(4)
        ]
        return list(await asyncio.gather(*episodes))


def outcomes(
    model: str, *, retries: int = 0, timeout_s: float = 30.0, conduct: Conduct = CONDUCT
) -> tuple[set[tuple[str, str]], int]:
    """Episode status and status of the last call, over all tasks; how many requests it took."""

    async def run() -> tuple[set[tuple[str, str]], int]:
        async with serve(rows(4), conduct=conduct) as serving:
            played = await play(serving, model, retries=retries, timeout_s=timeout_s)
            return {(one.status, one.turns[-1].call_status) for one in played}, serving.requests

    return asyncio.run(run())


def test_gold_completes_every_task_in_four_turns() -> None:
    assert outcomes("scripted-gold", conduct=Conduct(key="canary")) == ({("completed", "completed")}, 16)


def test_limited_rate_costs_a_second_request_each() -> None:
    assert outcomes("scripted-rate-limited", retries=1) == ({("completed", "completed")}, 32)


def test_limited_rate_without_retries_ends_every_task() -> None:
    assert outcomes("scripted-rate-limited") == ({("candidate_call_failed", "retry_exhausted")}, 4)


def test_unavailable_uses_up_the_attempts() -> None:
    assert outcomes("scripted-unavailable", retries=1) == ({("candidate_call_failed", "retry_exhausted")}, 8)


def test_garbage_is_the_candidates_failure() -> None:
    assert outcomes("scripted-garbage", retries=3) == ({("malformed_response", "malformed_response")}, 4)


def test_drip_that_ends_in_time_is_a_reply() -> None:
    assert outcomes("scripted-slow-drip", conduct=Conduct(drip_s=0.0)) == ({("completed", "completed")}, 16)


def test_drip_is_cut_by_the_total_deadline() -> None:
    # A byte always comes before a timeout of a single read would pass.
    ended = outcomes("scripted-slow-drip", timeout_s=0.3, conduct=Conduct(drip_s=0.05, grace_s=0.0))
    assert ended == ({("candidate_call_failed", "retry_exhausted")}, 4)


@pytest.mark.parametrize(
    ("model", "conduct"), [("scripted-unauthorized", CONDUCT), ("scripted-gold", Conduct(key="another"))]
)
def test_refused_key_ends_the_run(model: str, conduct: Conduct) -> None:
    with pytest.raises(EvalError) as refused:
        outcomes(model, conduct=conduct)
    assert {problem.code for problem in refused.value.problems} == {"eval_candidate_authentication_failed"}
    assert "canary" not in str(refused.value)


def test_unknown_conversation_is_no_failure_of_the_candidate() -> None:
    async def run() -> set[tuple[str, str]]:
        async with serve(rows(1)) as serving:
            played = await play(serving, "scripted-gold", retries=0, timeout_s=30.0)
            return {(one.status, one.turns[-1].call_status) for one in played[1:]}

    assert asyncio.run(run()) == {("candidate_call_failed", "provider_rejected")}
