"""How does a scripted candidate listen? A small HTTP/1.1 server on asyncio's streams, for loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from bfcl.canonical import Json
from bfcl.evaluate.scripted.answering import COMPLETIONS, Answer, Answering, Recorder, refusal
from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from bfcl.evaluate.scripted.http11 import HEAD_BYTES, BadRequest, Request, read_request, response_head
from bfcl.exports.row import ExportRow

BACKLOG: Final = 2048
"""Connections that may wait to be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """How a server behaves, whatever the candidate says."""

    host: str = "127.0.0.1"
    key: str | None = field(default=None, repr=False)
    """The bearer value to ask for; None asks for none."""
    latency_s: float = 0.0
    """Waited before every completion."""
    retry_after_s: int = 1
    """What `scripted-rate-limited` asks a client to wait."""
    drip_s: float = 0.2
    """Between two bytes of `scripted-slow-drip`."""
    connections: int = 2048
    """The most that are served at once; whoever comes then is told 503."""
    grace_s: float = 1.0
    """How long answers under way may take once the server is to end."""
    record: Recorder | None = None
    """Gets the body of every request for a completion, never a header. What it raises ends the server."""


class Serving:
    """A server that listens."""

    def __init__(self, answering: Answering, conduct: Conduct) -> None:
        self._answering = answering
        self._conduct = conduct
        self._connections: dict[asyncio.Task[None], bool] = {}
        """Whether a connection is in the middle of an answer."""
        self._server: asyncio.Server | None = None
        self._stopping = False
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.requests = 0
        """For a completion: answered so far, or being answered. The two below count the same."""
        self.in_flight = 0
        self.peak_in_flight = 0
        self.port = 0

    @property
    def base_url(self) -> str:
        """What goes into `api.base_url`."""
        host = f"[{self._conduct.host}]" if ":" in self._conduct.host else self._conduct.host
        return f"http://{host}:{self.port}/v1"

    async def failed(self) -> None:
        """Wait until the server is stopped, or until something breaks that is no client's fault; raises what it was."""
        await asyncio.shield(self._broken)

    async def start(self, port: int) -> None:
        """Listen. Raises: OSError where the address cannot be had."""
        self._server = await asyncio.start_server(
            self._connected, self._conduct.host, port, limit=HEAD_BYTES, backlog=BACKLOG
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more; let answers under way end, for a moment, and drop the rest."""
        self._stopping = True
        if self._server is not None:
            self._server.close()
        for connection, busy in list(self._connections.items()):
            if not busy:
                connection.cancel()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=self._conduct.grace_s)
        left = list(self._connections)
        for connection in left:
            connection.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if not self._broken.done():
            self._broken.set_result(None)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections[connection] = False
        connection.add_done_callback(self._ended)

    def _ended(self, connection: asyncio.Task[None]) -> None:
        del self._connections[connection]
        error = None if connection.cancelled() else connection.exception()
        if error is not None:
            self._break(error)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request by request."""
        try:
            if len(self._connections) > self._conduct.connections:
                await self._send(writer, refusal(503, "too_many_connections", "too many connections"), keep_alive=False)
            else:
                while await self._exchange(reader, writer):
                    pass
        except (asyncio.IncompleteReadError, OSError):
            # The client has left; there is nobody to tell.
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection goes on."""
        try:
            request = await read_request(reader, writer)
        except BadRequest as bad:
            await self._send(writer, refusal(bad.status, "bad_request", str(bad)), keep_alive=False)
            return False
        if request is None:
            return False
        completing = request.path == COMPLETIONS
        self._begin(completing)
        try:
            answer = self._answer(request)
            if completing:
                await asyncio.sleep(self._conduct.latency_s)
            keep_alive = request.keep_alive and not self._stopping
            await self._send(writer, answer, keep_alive=keep_alive)
        finally:
            self._end(completing)
        return keep_alive and not self._stopping

    def _answer(self, request: Request) -> Answer:
        try:
            return self._answering.answer(request, self._health())
        except OSError as error:
            # Of the recorder's file: no fault of the connection, which ends by it all the same.
            self._break(error)
            raise

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer, *, keep_alive: bool) -> None:
        head = response_head(answer.status, len(answer.body), answer.headers, keep_alive=keep_alive)
        if answer.pace == "at_once":
            writer.write(head + answer.body)
            await writer.drain()
            return
        writer.write(head)
        for place in range(len(answer.body)):
            await asyncio.sleep(self._conduct.drip_s)
            writer.write(answer.body[place : place + 1])
            await writer.drain()

    def _begin(self, completing: int) -> None:
        self.requests += completing
        self.in_flight += completing
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        self._mark(busy=True)

    def _end(self, completing: int) -> None:
        self.in_flight -= completing
        self._mark(busy=False)

    def _mark(self, *, busy: bool) -> None:
        connection = asyncio.current_task()
        if connection in self._connections:
            self._connections[connection] = busy

    def _break(self, error: BaseException) -> None:
        if not self._broken.done():
            self._broken.set_exception(error)

    def _health(self) -> dict[str, Json]:
        return {"requests": self.requests, "in_flight": self.in_flight, "peak_in_flight": self.peak_in_flight}


@asynccontextmanager
async def serve(
    rows: Iterable[ExportRow] | ScriptedCandidate, port: int = 0, *, conduct: Conduct | None = None
) -> AsyncIterator[Serving]:
    """Listen while the block runs; port 0 takes one that is free.

    Raises: EvalError of a row without a script; OSError where the address cannot be had.
    """
    conduct = conduct or Conduct()
    candidate = rows if isinstance(rows, ScriptedCandidate) else ScriptedCandidate(rows)
    answering = Answering(candidate, key=conduct.key, retry_after_s=conduct.retry_after_s, record=conduct.record)
    serving = Serving(answering, conduct)
    await serving.start(port)
    try:
        yield serving
    finally:
        await serving.stop()
    # Stopped by now, so that this waits for nothing: a server that broke must not pass for one that was ended.
    await serving.failed()
