"""Requests in flight are bounded, each has a connection of its own, and a connection serves one after another."""

from __future__ import annotations

import asyncio

import pytest

from bfcl.modelio.chat_transport import AsyncTransport
from bfcl.modelio.transport import MAX_BODY_BYTES, Post, Reply, TransportFailure
from tests.embedding_server import unused_port
from tests.modelio.chat_server import Answering, Manner, Server, http, run, saying, serving


def posts(count: int, *manners: Manner, max_parallel: int = 8, at_once: bool = False) -> tuple[list[Reply], Server]:
    async def work() -> tuple[list[Reply], Server]:
        async with serving(*manners) as server:
            transport = AsyncTransport(max_parallel)
            request = Post(f"{server.url}/chat/completions", {"x-own": "1"}, b"{}")
            try:
                if at_once:
                    return list(await asyncio.gather(*(transport.post(request) for _ in range(count)))), server
                return [await transport.post(request) for _ in range(count)], server
            finally:
                await transport.aclose()
                await transport.aclose()

    return run(work())


def test_reply_is_status_known_headers_and_body_as_they_came() -> None:
    (reply,), server = posts(1, saying(429, b"later", retry_after="3", set_cookie="a=b", x_request_id="r-1"))
    assert (reply.status, reply.body) == (429, b"later")
    assert reply.headers["retry-after"] == "3"
    assert "set-cookie" not in reply.headers
    (seen,) = server.seen
    assert (seen.headers["x-own"], seen.body) == ("1", b"{}")


def test_connection_serves_one_request_after_another() -> None:
    _, server = posts(5)
    assert (server.connections, len(server.seen)) == (1, 5)


@pytest.mark.parametrize("surplus", [http(200, b"second"), b"\n"])
def test_what_a_server_sends_too_much_answers_no_other_request(surplus: bytes) -> None:
    async def generous(answering: Answering) -> None:
        answering.writer.write(http(200, b"first") + surplus)

    replies, server = posts(2, generous, saying(200, b"third"))
    assert [reply.body for reply in replies] == [b"first", b"third"]
    assert server.connections == 2


def test_requests_in_flight_are_no_more_than_allowed_and_each_has_a_connection() -> None:
    inside = most = 0

    async def counting(answering: Answering) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        for _ in range(20):
            await asyncio.sleep(0)
        inside -= 1
        answering.writer.write(http(200, b"{}"))

    _, server = posts(12, counting, max_parallel=3, at_once=True)
    assert (most, server.connections, len(server.seen)) == (3, 3, 12)


@pytest.mark.parametrize(
    "manner", [saying(200, b"x", content_encoding="gzip"), saying(200, b"x" * (MAX_BODY_BYTES + 1))]
)
def test_body_that_is_packed_or_too_long_is_not_kept(manner: Manner) -> None:
    (reply,), _ = posts(1, manner)
    assert (reply.status, reply.body) == (200, None)


def test_server_that_is_not_there_is_a_failure_of_the_transport() -> None:
    async def work() -> None:
        transport = AsyncTransport(1)
        try:
            await transport.post(Post(f"http://127.0.0.1:{unused_port()}/v1", {"authorization": "canary"}, b"{}"))
        finally:
            await transport.aclose()

    with pytest.raises(TransportFailure) as failure:
        run(work())
    assert failure.value.failure == "transport_error"
    assert "canary" not in str(failure.value)
    assert failure.value.__cause__ is None
