"""Who is asked, and how many worker processes an oracle has."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.evaluate.run.clients import live_chat, oracle_jobs
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.meter import Meter
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.modelio.exchange import ChatOutcome
from tests.evaluate.driven import LIMITS
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import loaded
from tests.modelio.chat_server import KEY, Server, candidate, request, saying, serving, well


def asked(meter: Meter, *, environment: dict[str, str]) -> tuple[ChatOutcome, Server]:
    async def ask() -> tuple[ChatOutcome, Server]:
        async with serving(saying(503), well()) as server:
            of = candidate(server.url)
            limits = replace(LIMITS, max_retries=1)
            async with live_chat(of, limits, meter, How(environment=environment)) as chat:
                await meter.lease()
                return await chat.complete(request(of), time.monotonic() + 100), server

    return asyncio.run(ask())


def meter(max_requests: int | None = None) -> Meter:
    async def pause(_: float) -> None:
        return None

    envelope = Envelope(path=Path("e"), eval_config_path=Path("c"), max_requests=max_requests)
    return Meter(envelope, pause=pause)


def test_candidate_is_asked_with_its_key_and_every_attempt_is_on_the_meter() -> None:
    counted = meter()
    outcome, server = asked(counted, environment={"KILN_KEY": KEY})
    assert (outcome.status, len(outcome.attempts), counted.requests) == ("completed", 2, 2)
    assert {seen.headers["authorization"] for seen in server.seen} == {f"Bearer {KEY}"}


def test_attempt_that_the_budget_does_not_allow_ends_the_run() -> None:
    (problem,) = refused(lambda: asked(meter(max_requests=1), environment={"KILN_KEY": KEY}))
    assert problem.code == "eval_budget_exhausted"
    assert problem.message == "1 requests were sent, and 1 are allowed"


@pytest.mark.parametrize(("tasks", "jobs"), [(1, 2), (3, 6), (10_000, 6)])
def test_oracle_has_two_processes_for_each_world_that_tasks_or_cores_can_keep_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: int, jobs: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 4, 5}, raising=False)
    settings = replace(loaded(tmp_path), limits=replace(LIMITS, max_parallel_tasks=tasks))
    assert oracle_jobs(settings) == jobs


@pytest.mark.parametrize(("cores", "jobs"), [(2, 4), (None, 2)])
def test_oracle_goes_by_all_cores_where_a_process_may_not_be_bound_to_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int | None, jobs: int
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    settings = replace(loaded(tmp_path), limits=replace(LIMITS, max_parallel_tasks=10_000))
    assert oracle_jobs(settings) == jobs
