"""The session of one episode asks its desk as little as it can, and counts for nothing what was made too far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from bfcl.evaluate.drive.answers import SessionAnswers
from bfcl.evaluate.drive.desk import OracleDesk, open_desk
from bfcl.exports.row import ExportRow
from bfcl.oracle.protocol import Episode, EpisodeResult, PlannedCall
from tests.evaluate.drive.benchmark import Benchmark, script_of

T = TypeVar("T")


class Counting:
    """A desk that notes what it is asked."""

    def __init__(self, desk: OracleDesk) -> None:
        self._desk = desk
        self.episodes: list[Episode] = []

    async def run(self, episode: Episode) -> EpisodeResult:
        self.episodes.append(episode)
        return await self._desk.run(episode)


def asked(studio: Benchmark, row: ExportRow, work: Callable[[SessionAnswers, Counting], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        async with open_desk(studio.pack, studio.config) as desk:
            counting = Counting(desk)
            return await work(SessionAnswers(counting, studio.spec(row)), counting)

    return asyncio.run(run())


def planned(row: ExportRow, turn: int = 0) -> list[PlannedCall]:
    calls = script_of(row).turns[turn].calls
    return [PlannedCall(tool=call.tool, arguments=call.arguments, turn_index=turn) for call in calls]


def test_reply_without_calls_that_may_be_made_asks_nobody(studio: Benchmark) -> None:
    async def work(answers: SessionAnswers, desk: Counting) -> None:
        assert await answers.reset(last=False) is None
        assert len(desk.episodes) == 1
        assert await answers.make([], last=False) == ()
        assert len(desk.episodes) == 1

    asked(studio, studio.row("kiln_status"), work)


def test_calls_are_answered_and_the_end_tells_state_and_assertions(studio: Benchmark) -> None:
    row = studio.row("kiln_status")
    declared = tuple(one.name for one in studio.spec(row).assertions)

    async def work(answers: SessionAnswers, desk: Counting) -> None:
        await answers.reset(last=False)
        (happened,) = await answers.make(planned(row), last=False)
        assert (happened.status, happened.commit) == ("completed", "not_applicable")
        assert happened.result == script_of(row).turns[0].calls[0].recorded_result
        ended = await answers.end(judge=True)
        assert len(desk.episodes) == 3
        assert [outcome.status for outcome in ended.assertions] == ["passed"] * len(declared)
        assert ended.states

    asked(studio, row, work)


@pytest.mark.parametrize("last", [False, True])
def test_end_that_is_not_to_be_judged_tells_the_state_alone(studio: Benchmark, last: bool) -> None:
    row = studio.row("kiln_status")
    assert studio.spec(row).assertions

    async def work(answers: SessionAnswers, _: Counting) -> EpisodeResult:
        await answers.reset(last=False)
        await answers.make(planned(row), last=last)
        return await answers.end(judge=False)

    ended = asked(studio, row, work)
    assert (len(ended.states), ended.assertions) == (1, ())


def test_end_that_was_asked_along_with_the_last_calls_is_the_same_and_asks_nobody_again(studio: Benchmark) -> None:
    row = studio.row("kiln_status")

    async def ended(answers: SessionAnswers, desk: Counting, *, last: bool) -> tuple[EpisodeResult, int]:
        await answers.reset(last=False)
        await answers.make(planned(row), last=last)
        return await answers.end(judge=True), len(desk.episodes)

    apart, apart_asked = asked(studio, row, lambda answers, desk: ended(answers, desk, last=False))
    along, along_asked = asked(studio, row, lambda answers, desk: ended(answers, desk, last=True))
    assert (along.states, along.assertions) == (apart.states, apart.assertions)
    assert (apart_asked, along_asked) == (3, 2)
