"""How does one request reach a server, and what of its answer is kept? Rule: translation.md §13.4."""

from __future__ import annotations

import logging
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, Self

from bfcl.modelio.echoed import holds

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
KEPT: Final = ("retry-after", "x-request-id", "request-id", "x-nv-request-id")
"""Headers of an answer that anybody reads."""
ONCE: Final[Mapping[str, str]] = {"connection": "close"}
"""Of every request: its connection is closed behind the answer. What a server sends beyond an answer would count as the
answer to the next request, and a look whether something of it waits says nothing of what is still under way."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,256}")
UNUSABLE: Final = "a proxy or certificate file that the environment names cannot be used"

Failure = Literal["timeout", "transport_error"]


class Post(NamedTuple):
    """One request. Its text form shows no header: there stands the credential."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"Post({self.url}, {len(self.body)} bytes)"


class Reply(NamedTuple):
    """An answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Lower-case names, only those that are read."""
    body: bytes | None
    """None where it is over the limit or encoded in a way that was not asked for; such bytes are not kept."""


class TransportFailure(Exception):
    """No whole answer came. `detail` is of the operating system or the TLS library, never of the server."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(f"{failure}: {detail}")
        self.failure = failure
        self.detail = detail


class Transport(Protocol):
    """Something that posts."""

    def post(self, request: Post, timeout_s: float) -> Reply:
        """Send and wait for the whole answer. Redirects are answers like any other.

        Raises: TransportFailure.
        """


class HttpTransport:
    """Over httpx: proxies of the environment count, `.netrc` does not. Use it as a context, or `close` it."""

    def __init__(self) -> None:
        self._client: httpx.Client | None = None
        self._socket: socket.socket | None = None
        """Of the connection that was opened last; requests follow each other, so it is the one in use."""
        self._ends = 0.0
        """When the request in hand is late, by the monotonic clock."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the client. Safe to call twice; a later request opens a new one."""
        if self._client is not None:
            self._client.close()
            self._client = None
            self._socket = None

    def post(self, request: Post, timeout_s: float) -> Reply:
        """See `Transport.post`. `timeout_s` bounds all of it but the look-up of the server's address."""
        # Costs a tenth of a second, and a run whose answers are recorded asks nobody.
        import httpx

        client = self._opened()
        self._ends = ends = time.monotonic() + timeout_s
        # The library bounds each single wait: a server that sends byte by byte would never be late.
        alarm = threading.Timer(timeout_s, self._cut)
        alarm.daemon = True
        alarm.start()
        try:
            with client.stream(
                "POST",
                request.url,
                headers=dict(request.headers),
                content=request.body,
                timeout=timeout_s,
                extensions={"trace": self._note},
            ) as answer:
                headers = {name: answer.headers[name] for name in KEPT if name in answer.headers}
                encoding = answer.headers.get("content-encoding", "identity").lower()
                body = _bounded(answer.iter_raw()) if encoding == "identity" else None
                return Reply(answer.status_code, headers, body)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            # Not chained: the library's own text may quote a header.
            late = isinstance(error, httpx.TimeoutException) or time.monotonic() >= ends
            detail = reason(error)
        finally:
            alarm.cancel()
        if late:
            raise TransportFailure("timeout", f"no answer within {timeout_s:g} s")
        raise TransportFailure("transport_error", detail)

    def _note(self, event: str, info: Mapping[str, object]) -> None:
        """Remember the socket of a connection when it is opened."""
        import httpcore

        stream = info.get("return_value")
        if event.endswith(("connect_tcp.complete", "start_tls.complete")) and isinstance(
            stream, httpcore.NetworkStream
        ):
            opened = stream.get_extra_info("socket")
            self._socket = opened if isinstance(opened, socket.socket) else None
            if time.monotonic() >= self._ends:
                # The alarm went off while nothing was open yet: it will not come again.
                self._cut()

    def _cut(self) -> None:
        """End the connection in use: whoever waits for it fails at once."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _opened(self) -> httpx.Client:
        import httpx

        if self._client is None:
            quiet()
            try:
                self._client = httpx.Client(follow_redirects=False, cookies=no_cookies(), headers=ONCE)
            except (ValueError, ImportError, OSError, httpx.InvalidURL):
                # Not chained: the text may quote a proxy's address with its password.
                self._client = None
        if self._client is None:
            raise TransportFailure("transport_error", UNUSABLE)
        return self._client


def _bounded(pieces: Iterator[bytes]) -> bytes | None:
    """The pieces together, None once they are over the limit."""
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def quiet() -> None:
    """Cap the loggers of the HTTP library: below warnings they tell headers."""
    for name in ("httpx", "httpcore"):
        log = logging.getLogger(name)
        log.setLevel(max(log.level, logging.WARNING))


def no_cookies() -> CookieJar:
    """A jar that takes nothing: an answer must not change what the next request carries."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def harmless(headers: Mapping[str, str], secret: str | None) -> dict[str, str]:
    """The headers without those that hand the credential back, and without a request id that is none."""
    return {
        name: value
        for name, value in headers.items()
        if not (secret and holds(value, secret)) and (not name.endswith("request-id") or _REQUEST_ID.fullmatch(value))
    }


def reason(error: BaseException) -> str:
    """Why a connection failed: of the operating system or of the certificate check, else the kind of the error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"certificate refused: {cause.verify_message}"
        if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
            return os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
