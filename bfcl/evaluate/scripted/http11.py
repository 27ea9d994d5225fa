"""What does a client ask over HTTP/1.1? Read strictly and within bounds; whatever two readers could take differently
is refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

HEAD_BYTES: Final = 32 * 1024
"""The most that request line and headers may take; the limit of the stream they are read from."""
BODY_BYTES: Final = 16 * 1024 * 1024
HEADERS: Final = 100
IDLE_S: Final = 75.0
"""How long a connection may be silent between two requests."""
BODY_S: Final = 30.0

_END: Final = b"\r\n\r\n"
_REQUEST_LINE: Final = re.compile(r"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)")
_SINGLE: Final = frozenset({"authorization", "content-length", "content-type", "host"})
_LENGTH: Final = re.compile(r"[0-9]{1,12}")
_REASONS: Final[Mapping[int, str]] = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    417: "Expectation Failed",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class BadRequest(Exception):
    """A request that cannot be read. `status` is the answer, after which the connection ends."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A whole request. Header names are lower case; the path is without its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    keep_alive: bool


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request of a connection, or None where there is none any more.

    Raises: BadRequest; asyncio.IncompleteReadError and ConnectionError where the client leaves in the middle.
    """
    try:
        async with asyncio.timeout(IDLE_S):
            head = await reader.readuntil(_END)
    except TimeoutError:
        return None
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    except asyncio.LimitOverrunError:
        raise BadRequest(431, f"request line and headers take more than {HEAD_BYTES} bytes") from None
    method, target, minor, headers = _head(head)
    length = _length(headers, method)
    if headers.get("expect"):
        if headers["expect"].lower() != "100-continue":
            raise BadRequest(417, "`Expect` may only be 100-continue")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        async with asyncio.timeout(BODY_S):
            body = await reader.readexactly(length)
    except TimeoutError:
        raise BadRequest(408, f"the body did not arrive within {BODY_S:g} s") from None
    wishes = {wish.strip().lower() for wish in headers.get("connection", "").split(",")}
    return Request(
        method=method,
        path=target.partition("?")[0],
        headers=headers,
        body=body,
        keep_alive="close" not in wishes and (minor == "1" or "keep-alive" in wishes),
    )


def response_head(status: int, length: int, headers: Mapping[str, str], *, keep_alive: bool) -> bytes:
    """Status line and headers of a JSON response of so many bytes."""
    lines = [
        f"HTTP/1.1 {status} {_REASONS[status]}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        f"Connection: {'keep-alive' if keep_alive else 'close'}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _head(head: bytes) -> tuple[str, str, str, dict[str, str]]:
    """Method, target, minor version and headers."""
    first, *lines = head[: -len(_END)].decode("latin-1").split("\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    if line is None:
        raise BadRequest(400, "the request line is not `METHOD /path HTTP/1.1`")
    if len(lines) > HEADERS:
        raise BadRequest(431, f"more than {HEADERS} headers")
    headers: dict[str, str] = {}
    for one in lines:
        header = _HEADER.fullmatch(one)
        if header is None:
            raise BadRequest(400, "a header line is not `Name: value`")
        name, value = header.group(1).lower(), header.group(2).strip(" \t")
        if name in headers and name in _SINGLE:
            raise BadRequest(400, f"the header `{name}` stands there twice")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    if line.group(3) == "1" and not headers.get("host"):
        raise BadRequest(400, "HTTP/1.1 wants a `Host` header")
    return line.group(1), line.group(2), line.group(3), headers


def _length(headers: Mapping[str, str], method: str) -> int:
    """How many bytes the body has."""
    if "transfer-encoding" in headers:
        raise BadRequest(411, "send the body in one piece, with `Content-Length`")
    told = headers.get("content-length")
    if told is None:
        if method == "POST":
            raise BadRequest(411, "a POST wants `Content-Length`")
        return 0
    if not _LENGTH.fullmatch(told):
        raise BadRequest(400, "`Content-Length` is no number of bytes")
    if int(told) > BODY_BYTES:
        raise BadRequest(413, f"the body has more than {BODY_BYTES} bytes")
    return int(told)
