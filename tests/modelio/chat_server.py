"""A chat endpoint on the loopback in the test's own event loop, and the candidate that is reached there."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.evaluate.settings.model import Candidate, Identity, Inference
from bfcl.modelio.chat_live import ChatClock, ChatLimits, LiveChat
from bfcl.modelio.chat_request import body_of, request_of
from bfcl.modelio.credential import Credential
from bfcl.modelio.exchange import ChatRequest

KEY = "canary-5b1f0c9e7d"
MESSAGES: list[dict[str, Json]] = [{"role": "user", "content": "đốt lò, please"}]
TOOLS: list[dict[str, Json]] = [{"type": "function", "function": {"name": "fire", "parameters": {"type": "object"}}}]
Ended = TypeVar("Ended")


class Seen(NamedTuple):
    """One request as it came in."""

    line: str
    headers: dict[str, str]
    """Lower-case names."""
    body: bytes


class Answering(NamedTuple):
    """One request being answered."""

    seen: Seen
    writer: asyncio.StreamWriter


Manner = Callable[[Answering], Awaitable[None]]


def http(status: int, body: bytes, **headers: str) -> bytes:
    """A whole answer; header names have `_` for `-`."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"content-length: {len(body)}", *lines])
    return head.encode() + b"\r\n\r\n" + body


def saying(status: int, body: bytes = b"", **headers: str) -> Manner:
    async def manner(answering: Answering) -> None:
        answering.writer.write(http(status, body, **headers))
        await answering.writer.drain()

    return manner


def reply(content: Json = "fine", **message: Json) -> dict[str, Any]:
    """A usable reply."""
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": content, **message}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }


def well(content: Json = "fine", **headers: str) -> Manner:
    return saying(200, json.dumps(reply(content)).encode(), **headers)


async def silent(answering: Answering) -> None:
    """Closes the connection without a word."""
    answering.writer.close()


class Server:
    """A running server. `manners` are used up one a request; the last one stays."""

    def __init__(self, *manners: Manner) -> None:
        self.manners = list(manners) or [well()]
        self.seen: list[Seen] = []
        self.connections = 0
        self.url = ""
        self.handling: set[asyncio.Task[None]] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.handling.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while not writer.is_closing():
                line, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
                seen = Seen(line, headers, await reader.readexactly(int(headers.get("content-length", "0"))))
                self.seen.append(seen)
                manner = self.manners.pop(0) if len(self.manners) > 1 else self.manners[0]
                await manner(Answering(seen, writer))
        writer.transport.abort()
        self.handling.discard(task)


@asynccontextmanager
async def serving(*manners: Manner, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Run a server for as long as the context lasts."""
    server = Server(*manners)
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls, backlog=512)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1"
    try:
        yield server
    finally:
        listening.close()
        for task in list(server.handling):
            task.cancel()
        await asyncio.gather(*server.handling, return_exceptions=True)
        await listening.wait_closed()


def candidate(base_url: str = "http://127.0.0.1:1/v1", **inference: Any) -> Candidate:
    fields: dict[str, Any] = {
        "temperature": 0.0,
        "top_p": None,
        "max_tokens": 64,
        "seed": 5,
        "tool_choice": "auto",
        "provider_extensions": {},
        "max_tokens_field": "max_tokens",
        "echo_reasoning": None,
    }
    return Candidate(
        alias="kiln",
        model="vendor/kiln-7b",
        provider="vendor-x.ai",
        provider_api_version="v1",
        base_url=base_url,
        api_key_env="KILN_KEY",
        identity=Identity(source="hub", model="vendor/kiln-7b", revision="a" * 40, weights_digest=None),
        canonical_id=f"hub:vendor/kiln-7b@{'a' * 40}",
        assurance="weights_pinned",
        inference=Inference(**{**fields, **inference}),
        inference_parameters_hash=Digest("sha256:0"),
    )


def request(of: Candidate, *, task_id: str = "task-1", turn: int = 0) -> ChatRequest:
    return request_of(of, body_of(of, MESSAGES, TOOLS), task_id=task_id, turn_index=turn)


def live(of: Candidate, *, pauses: list[float] | None = None, **settings: Any) -> LiveChat:
    """A client whose waits between attempts are noted and pass at once."""
    noted: list[float] = [] if pauses is None else pauses

    async def pause(seconds: float) -> None:
        noted.append(seconds)

    wanted: dict[str, Any] = {"max_retries": 2, "timeout_s": 60.0, "max_parallel": 4, **settings}
    credential = Credential("KILN_KEY", wanted.pop("environment", {"KILN_KEY": KEY}))
    return LiveChat(of, credential, ChatLimits(**wanted), clock=ChatClock(wall=lambda: 1_000_000_000.0, pause=pause))


def run(coroutine: Coroutine[Any, Any, Ended]) -> Ended:
    """Run to the end, which every test reaches in a fraction of this time."""

    async def bounded() -> Ended:
        return await asyncio.wait_for(coroutine, 120)

    return asyncio.run(bounded())
