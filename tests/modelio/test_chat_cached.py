"""Calls are answered from the record or by asking; what was asked is on record at once."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from bfcl.errors import EvalError
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.modelio.chat_cached import CachedChat
from bfcl.modelio.exchange import ChatOutcome, ChatRequest
from tests.modelio.chat_server import KEY, Answering, candidate, live, run, saying, serving, well
from tests.modelio.chat_server import request as asked
from tests.modelio.recording import ALL, filled, outcome, request


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "candidate_io_cache.jsonl"


def far() -> float:
    return time.monotonic() + 100


class Nobody:
    """Whom nobody may ask."""

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        raise AssertionError(request)


def test_concluded_call_is_asked_once_and_needs_neither_network_nor_key_again(path: Path) -> None:
    async def ask() -> tuple[list[ChatOutcome], int, bytes]:
        async with serving(saying(400), well("asked twice")) as server:
            of = candidate(server.url)
            async with live(of) as asking:
                chat = CachedChat(CandidateCache(path), asking)
                told = [await chat.complete(asked(of), far()) for _ in range(2)]
            recorded = path.read_bytes()
            async with live(of, environment={}) as asking:
                told.append(await CachedChat(CandidateCache(path), asking).complete(asked(of), far()))
            return told, len(server.seen), recorded

    told, count, recorded = run(ask())
    assert count == 1
    assert [(each.status, each.replayed) for each in told] == [("provider_rejected", r) for r in (False, True, True)]
    assert len({json.dumps(each.to_json()) for each in told}) == 1
    assert path.read_bytes() == recorded
    assert KEY.encode() not in recorded


@pytest.mark.parametrize("http_status", [401, 403])
def test_refused_credential_leaves_no_record(path: Path, http_status: int) -> None:
    async def ask() -> None:
        async with serving(saying(http_status)) as server:
            of = candidate(server.url)
            async with live(of) as asking:
                with pytest.raises(EvalError, match="eval_candidate_authentication_failed"):
                    await CachedChat(CandidateCache(path), asking).complete(asked(of), far())

    run(ask())
    assert not path.exists()


def test_missing_key_is_told_at_the_first_call_that_is_not_recorded(path: Path) -> None:
    async def ask() -> None:
        of = candidate()
        async with live(of, environment={}) as asking:
            with pytest.raises(EvalError, match="eval_candidate_credentials_missing"):
                await CachedChat(CandidateCache(path), asking).complete(asked(of), far())

    run(ask())
    assert not path.exists()


def test_cancelled_call_leaves_no_record(path: Path) -> None:
    async def ask() -> None:
        here = asyncio.Event()

        async def hold(answering: Answering) -> None:
            here.set()
            await asyncio.Event().wait()

        async with serving(hold) as server:
            of = candidate(server.url)
            async with live(of) as asking:
                chat = CachedChat(CandidateCache(path), asking)
                task = asyncio.create_task(chat.complete(asked(of), far()))
                await here.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    run(ask())
    assert not path.exists()


def test_import_takes_the_candidates_own_outcomes_alone(path: Path) -> None:
    filled(path, *((status, outcome(status, status, before=1)) for status in ALL))
    imported = CandidateCache(path, imported=True)
    found = {status: imported.find(request(status)) for status in ALL}
    assert {status for status, outcome in found.items() if outcome is not None} == {"completed", "malformed_response"}
    assert all(outcome.replayed for outcome in found.values() if outcome is not None)
