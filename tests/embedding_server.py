"""A server of `POST /v1/embeddings` on the loopback, which answers in ways that have names; nothing else is asked."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from bfcl.digest import sha256_bytes

DIMENSIONS = 24


class Seen(NamedTuple):
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes

    @property
    def texts(self) -> list[str]:
        return list(json.loads(self.body)["input"])


class Answer(NamedTuple):
    """What is sent back; None closes the connection without a word."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


Manner = Callable[[Seen], "Answer | None"]


def vector(text: str) -> list[float]:
    """Counts of a text's letter pairs, folded to a few columns: texts that share words point alike."""
    counts = [0.0] * DIMENSIONS
    for at in range(len(text) - 1):
        place = sha256_bytes(text[at : at + 2].encode())
        counts[place[0] % DIMENSIONS] += 1.0 + place[1] / 7
    return counts


def embeddings(vectors: Sequence[Any]) -> bytes:
    """The document that holds these vectors, in order."""
    items = [{"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(vectors)]
    return json.dumps({"object": "list", "data": items, "model": "m", "usage": {"prompt_tokens": 1}}).encode()


# --- manners ---


def well(seen: Seen) -> Answer:
    """As it should."""
    return Answer(200, embeddings([vector(text) for text in seen.texts]))


def silent(_: Seen) -> None:
    """Closes the connection."""


def refusing(status: int, body: bytes = b"{}", **headers: str) -> Manner:
    """With that status; header names have `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Answer(status, body, named)


def saying(body: bytes, **headers: str) -> Manner:
    """200 with these bytes, whatever they are."""
    return refusing(200, body, **headers)


def echoing(status: int) -> Manner:
    """Hands the credential and the texts back, in the body and as request id."""
    return lambda seen: Answer(
        status,
        seen.headers.get("authorization", "").encode() + seen.body,
        {"x-request-id": seen.headers.get("authorization", "none").removeprefix("Bearer ")},
    )


class Server:
    """A running server. `manners` are used up one a request; the last one stays."""

    def __init__(self, *manners: Manner) -> None:
        self.manners = list(manners) or [well]
        self.seen: list[Seen] = []
        self._guard = threading.Lock()

    def answer(self, seen: Seen) -> Answer | None:
        with self._guard:
            self.seen.append(seen)
            manner = self.manners.pop(0) if len(self.manners) > 1 else self.manners[0]
        return manner(seen)

    url: str = ""


@contextmanager
def serving(*manners: Manner, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server for as long as the context lasts."""
    server = Server(*manners)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            seen = Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            answer = server.answer(seen)
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that goes away in the middle is part of some tests."""

    httpd = Quiet(("127.0.0.1", 0), Handler)
    if tls is not None:
        httpd.socket = tls.wrap_socket(httpd.socket, server_side=True)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{httpd.server_port}/v1"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def unused_port() -> int:
    """A port of the loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
