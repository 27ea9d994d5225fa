from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json
from bfcl.errors import EvalError
from bfcl.evaluate.run.meter import Meter, tokens_of
from bfcl.evaluate.run.unanswered import Cause
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.modelio.chat_request import body_of, request_of
from bfcl.modelio.exchange import ChatOutcome
from tests.evaluate.driven import candidate, outcome_of, script, words


def envelope(**caps: int) -> Envelope:
    return replace(Envelope(path=Path("e.yaml"), eval_config_path=Path("c.yaml")), **caps)  # type: ignore[arg-type]


def outcome(usage: dict[str, Json] | None = None) -> ChatOutcome:
    request = request_of(
        candidate(), body_of(candidate(), [{"role": "user"}], script().tools), task_id="t", turn_index=0
    )
    made = outcome_of(request, words("Yes."))
    assert made.response is not None
    return replace(made, response=replace(made.response, usage=usage))


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def refused(error: EvalError) -> list[str]:
    return [str(problem) for problem in error.problems]


@given(cap=st.integers(1, 6), callers=st.integers(1, 12))
def test_no_more_requests_are_let_through_than_allowed(cap: int, callers: int) -> None:
    meter = Meter(envelope(max_requests=cap))
    sent: list[int] = []

    async def call(number: int) -> None:
        await meter.lease()
        try:
            await asyncio.sleep(0)
            sent.append(number)
        finally:
            meter.give_back(None)

    async def work() -> None:
        found = await asyncio.gather(*(call(number) for number in range(callers)), return_exceptions=True)
        assert [one for one in found if one is None] == [None] * min(cap, callers)
        assert all(isinstance(one, EvalError) for one in found if one is not None)

    run(work())
    assert sent == list(range(min(cap, callers)))


def test_calls_that_were_concluded_are_counted_and_no_others() -> None:
    meter = Meter(envelope())

    async def work() -> None:
        for answer in (outcome(), None, replace(outcome(), response=None)):
            await meter.lease()
            meter.give_back(answer)

    run(work())
    assert meter.calls == 2


def test_refusal_waits_until_calls_under_way_are_on_record() -> None:
    meter = Meter(envelope(max_requests=1))
    order: list[str] = []

    async def late() -> None:
        with pytest.raises(EvalError) as refusal:
            await meter.lease()
        order.append("refused")
        assert refused(refusal.value) == [
            "eval_budget_exhausted: max_requests: 1 requests were sent, and 1 are allowed\n"
            "  fix: go on in a new output directory with this one as `resume_from`, "
            "and with a higher `max_requests` or none"
        ]

    async def work() -> None:
        await meter.lease()
        task = asyncio.create_task(late())
        for _ in range(5):
            await asyncio.sleep(0)
        order.append("recorded")
        meter.give_back(outcome())
        await task

    run(work())
    assert order == ["recorded", "refused"]


def test_further_attempts_count_and_a_call_that_may_not_be_tried_again_does_not_wait_for_itself() -> None:
    async def pause(_: float) -> None:
        pass

    meter = Meter(envelope(max_requests=2), pause=pause)

    async def work() -> None:
        await meter.lease()
        await meter.retry(1.0)
        with pytest.raises(EvalError, match="2 requests were sent, and 2 are allowed"):
            await meter.retry(1.0)

    run(work())


def test_tokens_stop_the_run_once_they_are_used_up() -> None:
    meter = Meter(envelope(max_total_tokens=10))

    async def work() -> None:
        for _ in range(2):
            await meter.lease()
            meter.give_back(outcome({"prompt_tokens": 3, "completion_tokens": 2}))
        with pytest.raises(EvalError, match="max_total_tokens: 10 tokens were used, and 10 are allowed"):
            await meter.lease()

    run(work())


def test_infrastructure_stops_are_counted_up_to_the_cap() -> None:
    meter = Meter(envelope(max_infrastructure_stops=4))

    async def work() -> None:
        for _ in range(3):
            await meter.stopped_by_infrastructure(Cause("HTTP 400 Bad Request", "answered", 400))
        with pytest.raises(EvalError) as refusal:
            await meter.stopped_by_infrastructure(Cause("oracle_timeout", "episode"))
        (problem,) = refusal.value.problems
        assert str(problem) == (
            "eval_budget_exhausted: max_infrastructure_stops: 4 tasks ended for reasons that are not the candidate's: "
            "HTTP 400 Bad Request, 3 times; oracle_timeout\n"
            "  fix: look at these first, as a higher cap mends none of them; then go on in a new output directory with "
            "this one as `resume_from`, and with a higher `max_infrastructure_stops` or none"
        )

    run(work())
    assert meter.stops == 4


def test_cap_of_one_stop_tells_of_one_task() -> None:
    meter = Meter(envelope(max_infrastructure_stops=1))

    async def work() -> None:
        with pytest.raises(EvalError, match="1 task ended for reasons that are not the candidate's: timeout"):
            await meter.stopped_by_infrastructure(Cause("timeout", "timeout"))

    run(work())


def test_requests_are_spread_over_the_minute_and_the_wait_is_told() -> None:
    now = 100.0

    async def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    meter = Meter(envelope(requests_per_minute=30), clock=lambda: now, pause=pause)

    async def work() -> None:
        assert [await meter.lease() for _ in range(3)] == [0.0, 2.0, 2.0]

    run(work())
    assert now == 104.0


@pytest.mark.parametrize(
    ("usage", "count"),
    [
        (None, 0),
        ({}, 0),
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9}, 7),
        ({"prompt_tokens": 3}, 3),
        ({"total_tokens": 9}, 9),
        ({"prompt_tokens": "3", "completion_tokens": True}, 0),
        ({"total_tokens": -1}, 0),
        ({"prompt_tokens": 10**4299, "completion_tokens": 2, "total_tokens": 10**4299}, 2),
        ({"total_tokens": 10**4299}, 0),
    ],
)
def test_tokens_are_those_that_the_provider_counts(usage: dict[str, Json] | None, count: int) -> None:
    assert tokens_of(outcome(usage)) == count
