"""The server on a real socket: connections, pace, counts, and its end."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import httpx
import pytest

from bfcl.canonical import Json, canonical_json
from bfcl.evaluate.scripted.server import Conduct, Serving, serve
from tests.evaluate.scripted.rows import conversation, row, rows
from tests.evaluate.scripted.served import served
from tests.exports.staged import decoded

BODY = {"messages": conversation(row(1), 2), "tools": decoded(row(1)).tools}


def chat(model: str = "scripted-gold") -> bytes:
    return canonical_json({"model": model, **BODY})


def raw(model: str) -> bytes:
    """A request on the wire."""
    body = chat(model)
    return b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def serving(test: Callable[[Serving], Coroutine[Any, Any, None]], conduct: Conduct | None = None) -> None:
    async def run() -> None:
        async with serve(rows(1), conduct=conduct) as server:
            await test(server)

    asyncio.run(run())


def test_requests_are_answered_on_one_connection() -> None:
    async def ask(server: Serving) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(3):
                reply = await client.post(f"{server.base_url}/chat/completions", content=chat())
                assert reply.status_code == 200
                assert reply.json()["choices"][0]["finish_reason"] == "tool_calls"
            health = await client.get(f"{server.base_url.removesuffix('/v1')}/healthz")
        assert health.json() == {"status": "ok", "tasks": 1, "requests": 3, "in_flight": 0, "peak_in_flight": 1}

    serving(ask)


def test_requests_in_flight_are_counted_while_they_wait() -> None:
    async def ask(server: Serving) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            asked = [client.post(f"{server.base_url}/chat/completions", content=chat()) for _ in range(8)]
            replies = await asyncio.gather(*asked)
        assert {reply.status_code for reply in replies} == {200}
        assert (server.requests, server.in_flight, server.peak_in_flight) == (8, 0, 8)

    serving(ask, Conduct(latency_s=0.3))


def test_malformed_request_is_answered_and_its_connection_closed() -> None:
    async def ask(server: Serving) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/9.9\r\n\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert answer.count(b"\r\nContent-Length: ") == 1
        writer.close()

    serving(ask)


def test_drip_sends_the_head_at_once_and_ends_with_its_client() -> None:
    async def ask(server: Serving) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(raw("scripted-slow-drip"))
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(2) == b'{"'
        assert server.in_flight == 1
        writer.close()
        async with asyncio.timeout(20):
            while server.in_flight:
                await asyncio.sleep(0)

    serving(ask, Conduct(drip_s=0.001))


def test_drip_is_whole_in_the_end() -> None:
    async def ask(server: Serving) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            url = f"{server.base_url}/chat/completions"
            slow = await client.post(url, content=chat("scripted-slow-drip"))
            assert len(slow.json()["choices"][0]["message"]["tool_calls"]) == 2

    serving(ask, Conduct(drip_s=0.0))


def test_end_drops_what_would_drip_on() -> None:
    async def ask(server: Serving) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(raw("scripted-slow-drip"))
        await reader.readuntil(b"\r\n\r\n")
        await server.stop()
        assert await reader.read() == b""
        assert server.in_flight == 0
        writer.close()

    serving(ask, Conduct(drip_s=3600.0, grace_s=0.0))


def test_end_lets_an_answer_under_way_be_sent() -> None:
    async def ask(server: Serving) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(raw("scripted-gold"))
        async with asyncio.timeout(20):
            while not server.in_flight:
                await asyncio.sleep(0)
        await server.stop()
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
        writer.close()

    serving(ask, Conduct(latency_s=0.1))


def test_connection_too_many_is_told_so_and_the_others_go_on() -> None:
    async def ask(server: Serving) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(raw("scripted-gold"))
        assert (await reader.readuntil(b"\r\n")) == b"HTTP/1.1 200 OK\r\n"
        late, late_writer = await asyncio.open_connection("127.0.0.1", server.port)
        assert (await late.read()).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        writer.write(raw("scripted-gold"))
        await reader.readuntil(b"HTTP/1.1 200 OK\r\n")
        late_writer.close()
        writer.close()

    serving(ask, Conduct(connections=1))


def test_recorder_that_fails_ends_the_server_with_its_reason() -> None:
    def full(_: Mapping[str, Json]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def ask(server: Serving) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.post(f"{server.base_url}/chat/completions", content=chat())

    with pytest.raises(OSError, match="No space left on device"):
        serving(ask, Conduct(record=full))


def test_address_that_is_taken_is_refused() -> None:
    async def run() -> None:
        async with serve(rows(1)) as first:
            with pytest.raises(OSError, match="address already in use"):
                async with serve(rows(1), first.port):
                    pass

    asyncio.run(run())


def test_key_is_no_part_of_what_a_manner_shows() -> None:
    assert "canary" not in repr(Conduct(key="canary"))


def test_base_url_of_the_other_family_is_in_brackets() -> None:
    async def run() -> None:
        async with serve(rows(1), conduct=Conduct(host="::1")) as server:
            assert server.base_url == f"http://[::1]:{server.port}/v1"

    try:
        asyncio.run(run())
    except OSError as error:
        pytest.skip(f"no IPv6 loopback: {error}")


def test_server_can_be_had_from_a_test_that_is_not_asynchronous() -> None:
    bodies: list[Mapping[str, Json]] = []
    with served(rows(1), conduct=Conduct(record=bodies.append, key="canary")) as server:
        headers = {"Authorization": "Bearer canary"}
        url = f"{server.base_url}/chat/completions"
        assert httpx.post(url, content=chat(), headers=headers, trust_env=False).status_code == 200
        assert httpx.post(url, content=chat(), trust_env=False).status_code == 401
    assert [canonical_json(body) for body in bodies] == [chat()]
    with pytest.raises(httpx.ConnectError):
        httpx.post(url, content=chat(), trust_env=False)
