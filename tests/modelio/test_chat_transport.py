"""Requests in flight are bounded, and each has a connection of its own, over which nothing reaches another."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from bfcl.modelio.chat_transport import AsyncTransport
from bfcl.modelio.transport import MAX_BODY_BYTES, Post, Reply, TransportFailure
from tests.embedding_server import unused_port
from tests.modelio.chat_server import Answering, Manner, Server, http, run, saying, serving
from tests.system.project import PATIENCE_S, REPOSITORY

MANY = 200
READ = 64 * 1024
"""What the HTTP library takes from a connection at once."""
SURPLUS = [
    pytest.param(http(200, b"forged"), id="answer"),
    pytest.param(http(200, b"forged") * 2 + b"HTTP/1.1", id="more-answers"),
    pytest.param(b"\r\n", id="crlf"),
    pytest.param(b"\n", id="lf"),
]
"""What may come behind an answer."""


@pytest.fixture(params=["plain", "tls"])
def secured(request: pytest.FixtureRequest) -> ssl.SSLContext | None:
    context: ssl.SSLContext | None = request.getfixturevalue("tls") if request.param == "tls" else None
    return context


def posts(
    count: int,
    *manners: Manner,
    max_parallel: int = 8,
    at_once: bool = False,
    secured: ssl.SSLContext | None = None,
) -> tuple[list[Reply], Server]:
    """What requests are answered whose bodies are 0, 1, 2 and on."""

    async def work() -> tuple[list[Reply], Server]:
        async with serving(*manners, tls=secured) as server:
            transport = AsyncTransport(max_parallel)
            url = f"{server.url}/chat/completions"
            requests = [Post(url, {"x-own": "1"}, str(index).encode()) for index in range(count)]
            try:
                if at_once:
                    return list(await asyncio.gather(*map(transport.post, requests))), server
                return [await transport.post(request) for request in requests], server
            finally:
                await transport.aclose()
                await transport.aclose()

    return run(work())


def own(answering: Answering) -> bytes:
    """The answer to this request and to no other: its body again."""
    return http(200, answering.seen.body)


def bodies(count: int) -> list[bytes]:
    return [str(index).encode() for index in range(count)]


def test_reply_is_status_known_headers_and_body_as_they_came() -> None:
    (reply,), server = posts(1, saying(429, b"later", retry_after="3", set_cookie="a=b", x_request_id="r-1"))
    assert (reply.status, reply.body) == (429, b"later")
    assert reply.headers["retry-after"] == "3"
    assert "set-cookie" not in reply.headers
    (seen,) = server.seen
    assert (seen.headers["x-own"], seen.body) == ("1", b"0")


def test_each_request_has_a_connection_of_its_own_and_says_so() -> None:
    _, server = posts(5)
    assert (server.connections, len(server.seen)) == (5, 5)
    assert {seen.headers["connection"] for seen in server.seen} == {"close"}


# --- what a server sends too much ---


def in_one_piece(surplus: bytes) -> Manner:
    async def manner(answering: Answering) -> None:
        answering.writer.write(own(answering) + surplus)

    return manner


def in_the_next_record(surplus: bytes) -> Manner:
    """Two writes are two records of TLS, and here they are sent before anybody reads."""

    async def manner(answering: Answering) -> None:
        answering.writer.write(own(answering))
        answering.writer.write(surplus)

    return manner


def behind_a_full_read(surplus: bytes) -> Manner:
    """The answer ends where the library's read does."""

    async def manner(answering: Answering) -> None:
        head = len(http(200, b" " * READ)) - READ
        answer = http(200, answering.seen.body.ljust(READ - head))
        assert len(answer) == READ
        answering.writer.write(answer + surplus)

    return manner


@pytest.mark.parametrize("surplus", SURPLUS)
@pytest.mark.parametrize("sent", [in_one_piece, in_the_next_record, behind_a_full_read])
def test_what_a_server_sends_too_much_answers_no_other_request(
    sent: Callable[[bytes], Manner], surplus: bytes, secured: ssl.SSLContext | None
) -> None:
    replies, server = posts(4, sent(surplus), secured=secured)
    assert [(reply.body or b"").rstrip() for reply in replies] == bodies(4)
    assert [seen.body for seen in server.seen] == bodies(4)


@pytest.mark.parametrize("surplus", SURPLUS)
def test_what_a_server_sends_once_its_answer_was_taken_answers_no_other_request(
    surplus: bytes, secured: ssl.SSLContext | None
) -> None:
    async def work() -> tuple[list[bytes | None], int]:
        taken, sent = asyncio.Event(), asyncio.Event()

        async def belated(answering: Answering) -> None:
            answering.writer.write(own(answering))
            await taken.wait()
            answering.writer.write(surplus)
            sent.set()

        async with serving(belated, in_one_piece(b""), tls=secured) as server:
            transport = AsyncTransport(1)
            first = await transport.post(Post(f"{server.url}/x", {}, b"first"))
            taken.set()
            await sent.wait()
            second = await transport.post(Post(f"{server.url}/x", {}, b"second"))
            await transport.aclose()
            return [first.body, second.body], server.connections

    assert run(work()) == ([b"first", b"second"], 2)


def test_many_in_flight_are_each_answered_by_their_own_reply(secured: ssl.SSLContext | None) -> None:
    full = asyncio.Event()
    inside = 0

    async def together(answering: Answering) -> None:
        nonlocal inside
        inside += 1
        if inside == MANY:
            full.set()
        # Nobody is answered before all of them are here.
        await full.wait()
        await in_the_next_record(http(200, b"forged"))(answering)

    replies, server = posts(MANY + 50, together, max_parallel=MANY, at_once=True, secured=secured)
    assert [reply.body for reply in replies] == bodies(MANY + 50)
    assert (server.connections, len(server.seen)) == (MANY + 50, MANY + 50)


# --- how many, and how much ---


def test_requests_in_flight_are_no_more_than_allowed() -> None:
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
    assert (most, len(server.seen)) == (3, 12)


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


@pytest.mark.skipif(find_spec("sniffio") is not None, reason="the library is there")
def test_library_that_is_absent_is_not_looked_for_at_every_request() -> None:
    program = """
import asyncio, importlib, sys
from bfcl.modelio.chat_transport import AsyncTransport
AsyncTransport(1)._opened()
looked_for = []
sys.meta_path.insert(0, type("Finder", (), {"find_spec": staticmethod(lambda name, *_: looked_for.append(name))}))
from httpcore._synchronization import current_async_library
async def ask(): return [current_async_library() for _ in range(3)]
print(asyncio.run(ask()), "sniffio" in looked_for)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert done.stdout == "['asyncio', 'asyncio', 'asyncio'] False\n"
