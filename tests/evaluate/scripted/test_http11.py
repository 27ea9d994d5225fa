"""Requests are read strictly and within bounds."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from bfcl.evaluate.scripted.http11 import (
    BODY_BYTES,
    HEAD_BYTES,
    BadRequest,
    Request,
    read_request,
    response_head,
)


class Written:
    """Takes what the reader writes on its own account."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def read(sent: bytes, writer: Written | None = None) -> Request | None:
    async def run() -> Request | None:
        reader = asyncio.StreamReader(limit=HEAD_BYTES)
        reader.feed_data(sent)
        reader.feed_eof()
        return await read_request(reader, cast("asyncio.StreamWriter", writer or Written()))

    return asyncio.run(run())


def head(*lines: str, first: str = "POST /v1/x?y=1 HTTP/1.1", host: str = "Host: here") -> bytes:
    return "\r\n".join([first, host, *lines, "", ""]).encode("latin-1")


def test_request_is_read_whole() -> None:
    sent = head("Content-Length: 2", "X-Part:  a ", "x-part: b") + b"{}more"
    assert read(sent) == Request(
        method="POST",
        path="/v1/x",
        headers={"host": "here", "content-length": "2", "x-part": "a, b"},
        body=b"{}",
        keep_alive=True,
    )


@pytest.mark.parametrize(
    ("first", "connection", "keeps"),
    [
        ("GET / HTTP/1.1", "x: y", True),
        ("GET / HTTP/1.1", "Connection: Close", False),
        ("GET / HTTP/1.0", "x: y", False),
        ("GET / HTTP/1.0", "Connection: Keep-Alive", True),
    ],
)
def test_connection_is_kept_as_the_version_and_the_client_say(first: str, connection: str, keeps: bool) -> None:
    request = read(head(connection, first=first))
    assert request is not None
    assert request.keep_alive is keeps


def test_no_request_is_none() -> None:
    assert read(b"") is None


def test_client_that_leaves_in_the_middle_is_told_from_one_that_is_done() -> None:
    for sent in (b"POST / HT", head("Content-Length: 5") + b"{}"):
        with pytest.raises(asyncio.IncompleteReadError):
            read(sent)


def test_client_that_waits_is_told_to_go_on() -> None:
    writer = Written()
    assert read(head("Content-Length: 2", "Expect: 100-Continue") + b"{}", writer) is not None
    assert writer.data == b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (head(first="post / HTTP/1.1"), 400, "the request line is not `METHOD /path HTTP/1.1`"),
        (head(first="GET http://here/ HTTP/1.1"), 400, "the request line is not `METHOD /path HTTP/1.1`"),
        (head(first="GET / HTTP/2.0"), 400, "the request line is not `METHOD /path HTTP/1.1`"),
        (head("Name : value"), 400, "a header line is not `Name: value`"),
        (head("A: b", " folded"), 400, "a header line is not `Name: value`"),
        (head("A: b\nC: d"), 400, "a header line is not `Name: value`"),
        (head("Host: there"), 400, "the header `host` stands there twice"),
        (head("Content-Length: 2", "content-length: 2"), 400, "the header `content-length` stands there twice"),
        (head(first="GET / HTTP/1.1", host="A: b"), 400, "HTTP/1.1 wants a `Host` header"),
        (head("Content-Length: +2"), 400, "`Content-Length` is no number of bytes"),
        (head("Content-Length: 2, 2"), 400, "`Content-Length` is no number of bytes"),
        (head("Content-Length: ²"), 400, "`Content-Length` is no number of bytes"),
        (head("Transfer-Encoding: chunked"), 411, "send the body in one piece, with `Content-Length`"),
        (head(), 411, "a POST wants `Content-Length`"),
        (head(f"Content-Length: {BODY_BYTES + 1}"), 413, f"the body has more than {BODY_BYTES} bytes"),
        (head("Content-Length: 2", "Expect: more"), 417, "`Expect` may only be 100-continue"),
        (head(*["A: b"] * 100), 431, "more than 100 headers"),
        (head("A: " + "b" * HEAD_BYTES), 431, f"request line and headers take more than {HEAD_BYTES} bytes"),
    ],
    ids=str,
)
def test_request_that_two_readers_could_take_differently_is_refused(sent: bytes, status: int, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read(sent)
    assert (refused.value.status, str(refused.value)) == (status, message)


def test_response_head_says_length_and_whether_the_connection_goes_on() -> None:
    assert response_head(429, 7, {"Retry-After": "1"}, keep_alive=False) == (
        b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 7\r\n"
        b"Connection: close\r\nRetry-After: 1\r\n\r\n"
    )
