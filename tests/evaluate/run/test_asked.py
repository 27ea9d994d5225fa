from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bfcl.evaluate.run.asked import EpisodeChat, Nobody, NotRecorded
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.modelio.candidate_cache import FILE, CandidateCache
from bfcl.modelio.chat_request import body_of, request_of
from bfcl.modelio.exchange import ChatOutcome, ChatRequest
from tests.evaluate.driven import Answering, candidate, script, words

FREE = Envelope(path=Path("e.yaml"), eval_config_path=Path("c.yaml"))


def request(turn: int = 0) -> ChatRequest:
    body = body_of(candidate(), [{"role": "user", "content": str(turn)}], script().tools)
    return request_of(candidate(), body, task_id="t", turn_index=turn)


def test_call_is_asked_once_recorded_and_kept(tmp_path: Path) -> None:
    live = Answering(lambda _: words("Yes."))
    cache = CandidateCache(tmp_path / FILE)

    async def work() -> list[ChatOutcome]:
        chat = EpisodeChat(live, Meter(FREE), cache=cache, imported=None)
        return [await chat.complete(request(), 1e9) for _ in range(2)] + chat.outcomes

    first, second, *kept = asyncio.run(work())
    assert (first.replayed, second.replayed) == (False, True)
    assert kept == [first, second]
    assert len(live.requests) == 1


def test_answers_of_another_run_count_where_nothing_is_recorded_here(tmp_path: Path) -> None:
    async def work() -> ChatOutcome:
        live = Answering(lambda _: words("Yes."))
        earlier = CandidateCache(tmp_path / FILE)
        await EpisodeChat(live, Meter(FREE), cache=earlier, imported=None).complete(request(), 1e9)
        imported = CandidateCache(tmp_path / FILE, imported=True)
        return await EpisodeChat(Nobody(), Meter(FREE), cache=None, imported=imported).complete(request(), 1e9)

    assert asyncio.run(work()).replayed


def test_waiting_for_a_place_in_the_minute_is_not_on_the_episode() -> None:
    now = 0.0

    async def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    capped = Envelope(path=Path("e.yaml"), eval_config_path=Path("c.yaml"), requests_per_minute=1)
    live = Answering(lambda _: words("Yes."))

    async def work() -> float:
        chat = EpisodeChat(live, Meter(capped, clock=lambda: now, pause=pause), cache=None, imported=None)
        began = chat.clock()
        for turn in range(3):
            await chat.complete(request(turn), 1000.0)
        return chat.clock() - began

    assert asyncio.run(work()) == pytest.approx(-120.0, abs=60.0)
    assert live.deadlines == [1000.0, 1060.0, 1120.0]


def test_time_of_a_concluded_episode_is_up_after_the_calls_that_are_recorded() -> None:
    live = Answering(lambda _: words("Yes."))

    async def work() -> list[float]:
        chat = EpisodeChat(live, Meter(FREE), cache=None, imported=None, ends_after=1)
        before = chat.clock()
        await chat.complete(request(), 1e9)
        return [before, chat.clock()]

    assert asyncio.run(work()) == [0.0, float("inf")]


def test_nobody_answers_for_a_concluded_run(tmp_path: Path) -> None:
    chat = EpisodeChat(Nobody(), Meter(FREE), cache=CandidateCache(tmp_path / FILE), imported=None)
    with pytest.raises(NotRecorded, match="small:t:0"):
        asyncio.run(chat.complete(request(), 1e9))
