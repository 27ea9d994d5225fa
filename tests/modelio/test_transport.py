"""The transport against a real server on the loopback: exact bytes out, bounded bytes in, no header in any text."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bfcl.modelio.transport import KEPT, MAX_BODY_BYTES, HttpTransport, Post, Reply, TransportFailure, harmless
from tests.embedding_server import Answer, Seen, refusing, saying, serving, silent, unused_port

SECRET = "sentinel-4f9a8b7c"
HEADERS = {"authorization": f"Bearer {SECRET}", "content-type": "application/json"}


def post(url: str, body: bytes = b'{"a":1}') -> Post:
    return Post(url, HEADERS, body)


def failure(transport: HttpTransport, url: str, timeout_s: float = 5) -> str:
    with pytest.raises(TransportFailure) as caught:
        transport.post(post(url), timeout_s)
    assert SECRET not in repr(caught.value)
    return str(caught.value)


def test_request_shows_no_header() -> None:
    assert repr(post("http://h/v1")) == "Post(http://h/v1, 7 bytes)"


def test_exact_bytes_and_headers_are_sent(transport: HttpTransport) -> None:
    body = '{"text":"đốt lò"}'.encode()
    with serving(saying(b"fine", x_request_id="r-1", retry_after="3", server="s")) as server:
        reply = transport.post(post(f"{server.url}/embeddings", body), 5)
    assert reply == Reply(200, {"retry-after": "3", "x-request-id": "r-1"}, b"fine")
    (seen,) = server.seen
    assert (seen.path, seen.body) == ("/v1/embeddings", body)
    assert seen.headers["authorization"] == f"Bearer {SECRET}"


def test_redirect_is_not_followed(transport: HttpTransport) -> None:
    with serving() as other, serving(refusing(307, b"", location=f"{other.url}/embeddings")) as server:
        assert transport.post(post(f"{server.url}/embeddings"), 5).status == 307
    assert other.seen == []


def test_cookie_of_an_answer_does_not_come_back(transport: HttpTransport) -> None:
    with serving(saying(b"", set_cookie="a=b; Path=/")) as server:
        for _ in range(2):
            transport.post(post(f"{server.url}/x"), 5)
    assert ["cookie" in seen.headers for seen in server.seen] == [False, False]


def test_netrc_is_not_read(transport: HttpTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hunter2\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(saying(b"")) as server:
        transport.post(Post(f"{server.url}/x", {}, b"{}"), 5)
    assert "authorization" not in server.seen[0].headers


def test_proxy_of_the_environment_is_asked(transport: HttpTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(saying(b"by proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        assert transport.post(post("http://models.invalid/v1/x"), 5).body == b"by proxy"
    assert proxy.seen[0].path == "http://models.invalid/v1/x"


def test_unusable_proxy_is_told_without_its_address(transport: HttpTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"gopher://me:{SECRET}@127.0.0.1:1")
    assert failure(transport, "http://127.0.0.1:1/") == (
        "transport_error: a proxy or certificate file that the environment names cannot be used"
    )


@pytest.mark.parametrize(("size", "kept"), [(MAX_BODY_BYTES, True), (MAX_BODY_BYTES + 1, False)])
def test_body_over_the_limit_is_not_kept(transport: HttpTransport, size: int, kept: bool) -> None:
    with serving(saying(b"x" * size)) as server:
        reply = transport.post(post(f"{server.url}/x"), 60)
    assert (reply.body is not None) is kept


def test_body_in_an_encoding_that_was_not_asked_for_is_not_kept(transport: HttpTransport) -> None:
    with serving(saying(b"\x1f\x8b", content_encoding="gzip")) as server:
        assert transport.post(post(f"{server.url}/x"), 5) == Reply(200, {}, None)


def test_nobody_listening_is_told_in_the_systems_words(transport: HttpTransport) -> None:
    assert failure(transport, f"http://127.0.0.1:{unused_port()}/v1") == "transport_error: Connection refused"


def test_closed_connection_is_a_transport_error(transport: HttpTransport) -> None:
    with serving(silent) as server:
        assert failure(transport, f"{server.url}/x") == "transport_error: RemoteProtocolError"


def test_late_answer_is_a_timeout(transport: HttpTransport) -> None:
    over = threading.Event()

    def late(_: Seen) -> Answer:
        over.wait()
        return Answer(200, b"")

    with serving(late) as server:
        try:
            assert failure(transport, f"{server.url}/x", 0.05) == "timeout: no answer within 0.05 s"
        finally:
            over.set()


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"], ids=["headers", "body"])
def test_answer_that_comes_byte_by_byte_without_end_is_a_timeout(transport: HttpTransport, start: bytes) -> None:
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(start or b"HTTP/1.1 200 OK\r\n")
                while not over.wait(0.01):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/x"
            assert failure(transport, url, 0.2) == "timeout: no answer within 0.2 s"
        finally:
            over.set()
            thread.join()


def test_answer_that_drips_after_a_connection_that_came_too_late_is_a_timeout(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, rung = threading.Event(), threading.Event()
    cut, look_up = transport._cut, socket.getaddrinfo

    def ring() -> None:
        cut()
        rung.set()

    def late(*arguments: Any, **options: Any) -> Any:
        rung.wait()
        return look_up(*arguments, **options)

    monkeypatch.setattr(transport, "_cut", ring)
    monkeypatch.setattr(socket, "getaddrinfo", late)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not over.wait(0.01):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            url = f"http://localhost:{listening.getsockname()[1]}/x"
            assert failure(transport, url, 0.1) == "timeout: no answer within 0.1 s"
        finally:
            over.set()
            thread.join()


def test_address_that_the_library_refuses_is_a_transport_error(transport: HttpTransport) -> None:
    assert failure(transport, "http://a..b☃/") == "transport_error: InvalidURL"


def test_loggers_of_the_library_never_tell_less_than_warnings(
    transport: HttpTransport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(saying(b"")) as server:
        transport.post(post(f"{server.url}/x"), 5)
    assert [record for record in caplog.records if record.name.startswith(("httpx", "httpcore"))] == []


def test_closing_twice_is_fine_and_a_later_request_opens_again(transport: HttpTransport) -> None:
    with serving(saying(b"")) as server:
        transport.post(post(f"{server.url}/x"), 5)
        transport.close()
        transport.close()
        assert transport.post(post(f"{server.url}/x"), 5).status == 200


def test_certificate_is_checked(transport: HttpTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with serving(saying(b"safe"), tls=context) as server:
        assert failure(transport, f"{server.url}/x").startswith("transport_error: certificate refused: ")
        transport.close()
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert transport.post(post(f"{server.url}/x"), 5).body == b"safe"
    assert len(server.seen) == 1


@pytest.mark.parametrize("surplus", [b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond", b"\r\n", b"\n"])
@pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
def test_what_a_server_sends_too_much_answers_no_other_request(
    secured: bool, surplus: bytes, request: pytest.FixtureRequest
) -> None:
    """Answer and surplus in one piece or in two, on connections that the server keeps open."""
    context: ssl.SSLContext | None = request.getfixturevalue("tls") if secured else None
    first = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirst"
    with socket.create_server(("127.0.0.1", 0)) as listening, HttpTransport() as transport:

        def serve(answers: list[list[bytes]]) -> None:
            for answer in answers:
                taken, _ = listening.accept()
                if context is not None:
                    taken = context.wrap_socket(taken, server_side=True)
                kept.append(taken)
                taken.recv(65_536)
                with suppress(OSError):
                    for piece in answer:
                        taken.sendall(piece)

        kept: list[socket.socket] = []
        answers = [[first + surplus], [first.replace(b"first", b"third"), surplus], [first]]
        serving_all = threading.Thread(target=serve, args=(answers,))
        serving_all.start()
        url = f"http{'s' if secured else ''}://127.0.0.1:{listening.getsockname()[1]}/v1"
        assert [transport.post(post(url), 5).body for _ in range(3)] == [b"first", b"third", b"first"]
        serving_all.join()
        for taken in kept:
            taken.close()


def test_each_request_says_that_its_connection_serves_no_other(transport: HttpTransport) -> None:
    with serving(saying(b"fine")) as server:
        for _ in range(2):
            transport.post(post(f"{server.url}/x"), 5)
    assert [seen.headers["connection"] for seen in server.seen] == ["close", "close"]


@pytest.mark.parametrize("name", KEPT)
def test_header_that_hands_the_credential_back_is_not_kept(name: str) -> None:
    coded = b64encode(f"Bearer {SECRET}".encode()).decode()
    for value in (SECRET, f"r-{SECRET}-1", coded, "".join(f"%{ord(letter):02x}" for letter in SECRET)):
        assert harmless({name: value}, SECRET) == {}
    assert harmless({name: "17"}, SECRET) == harmless({name: "17"}, None) == {name: "17"}
