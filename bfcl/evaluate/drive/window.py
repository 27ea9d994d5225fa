"""How are very many tasks kept in flight a few at a time? Each begins when it is due. Rule: evaluation.md §5."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


async def in_flight(items: Iterable[Item], limit: int, work: Callable[[Item], Awaitable[None]]) -> None:
    """Work on items in their order, up to `limit` of them at once; memory is that of `limit` of them.

    Raises: what the first of them raises, once all others were cancelled and have ended.
    """
    waiting = iter(items)
    raised: list[BaseException] = []

    async def serve() -> None:
        for item in waiting:
            try:
                await work(item)
            except BaseException as error:
                raised.append(error)
                raise

    servers: set[asyncio.Task[None]] = set()
    try:
        # A server that finds nothing left ends at once.
        servers |= {asyncio.create_task(serve()) for _ in range(limit)}
        await asyncio.wait(servers, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for server in servers:
            server.cancel()
        await asyncio.gather(*servers, return_exceptions=True)
    if raised:
        raise raised[0]
