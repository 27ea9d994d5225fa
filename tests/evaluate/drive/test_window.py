from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.evaluate.drive.window import in_flight


@given(count=st.integers(0, 40), limit=st.integers(1, 12))
def test_every_item_is_worked_on_once_with_exactly_as_many_in_flight_as_allowed(count: int, limit: int) -> None:
    begun: list[int] = []
    now, most = 0, 0

    async def work(item: int) -> None:
        nonlocal now, most
        begun.append(item)
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1

    asyncio.run(in_flight(range(count), limit, work))
    assert begun == list(range(count))
    assert most == min(count, limit)


def test_items_are_taken_only_when_they_are_due() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    async def run() -> None:
        gate = asyncio.Event()

        async def work(_: int) -> None:
            await gate.wait()

        task = asyncio.create_task(in_flight(items(), 3, work))
        for _ in range(5):
            await asyncio.sleep(0)
        assert taken == [0, 1, 2]
        gate.set()
        await task

    asyncio.run(run())
    assert len(taken) == 1000


def test_first_error_cancels_the_others_and_is_the_one_raised() -> None:
    ended: list[str] = []

    async def work(item: int) -> None:
        try:
            if item == 1:
                raise ValueError("first")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(f"cancelled {item}")
            raise OSError("while closing") from None

    with pytest.raises(ValueError, match="first"):
        asyncio.run(in_flight(range(10), 3, work))
    assert sorted(ended) == ["cancelled 0", "cancelled 2"]


def test_cancelling_the_whole_cancels_all_in_flight() -> None:
    ended: list[int] = []

    async def work(item: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    async def run() -> None:
        task = asyncio.create_task(in_flight(range(10), 4, work))
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert sorted(ended) == [0, 1, 2, 3]
