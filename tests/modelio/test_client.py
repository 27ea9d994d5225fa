"""The live client over a real connection: what it sends, what it makes of answers, and that nobody's secret shows."""

from __future__ import annotations

import json

import pytest

from bfcl.digest import Digest, sha256_of
from bfcl.errors import BfclError, ConfigError, ModelError, Problem
from bfcl.modelio.attempts import Clock, Patience
from bfcl.modelio.client import LiveClient, ReplayClient
from bfcl.modelio.credential import Credential
from bfcl.modelio.providers import Provider, Route
from bfcl.modelio.transport import MAX_BODY_BYTES, HttpTransport
from tests.embedding_server import Manner, Server, echoing, refusing, saying, serving, silent, unused_port

SECRET = "sentinel-4f9a8b7c"
TEXT = "a text that nobody may repeat"
HASH = Digest("sha256:0")


def client(
    url: str, transport: HttpTransport, *, secret: str | None = SECRET, waits: list[float] | None = None
) -> LiveClient:
    provider = Provider(name="vendor", endpoint=url, provider_type="openai", api_key="KEY")
    credential = None if secret is None else Credential("KEY", {"KEY": secret})
    clock = Clock(pause=([] if waits is None else waits).append)
    return LiveClient(Route(provider, "e5"), credential, transport, patience=Patience(max_retries=2), clock=clock)


def refused(transport: HttpTransport, *manners: Manner, error: type[BfclError] = ModelError) -> tuple[str, Server]:
    with serving(*manners) as server, pytest.raises(error) as caught:
        client(server.url, transport).post("embeddings", {"input": [TEXT]}, HASH)
    whole = f"{caught.value!r} {caught.value} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert SECRET not in whole
    assert TEXT not in whole
    return str(caught.value), server


def test_fields_and_model_are_sent_as_canonical_json_with_the_credential(transport: HttpTransport) -> None:
    with serving(saying(b'{"b":[1,2.5]}')) as server:
        assert client(server.url, transport).post("embeddings", {"input": ["đ"]}, HASH) == {"b": [1, 2.5]}
    (seen,) = server.seen
    assert (seen.path, seen.body) == ("/v1/embeddings", '{"input":["đ"],"model":"e5"}'.encode())
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert seen.headers["accept-encoding"] == "identity"
    assert seen.headers["content-type"] == "application/json"


def test_provider_without_a_credential_gets_no_header(transport: HttpTransport) -> None:
    with serving(saying(b"1")) as server:
        assert client(server.url, transport, secret=None).post("x", {}, HASH) == 1
    assert "authorization" not in server.seen[0].headers


def test_missing_credential_asks_nobody(transport: HttpTransport) -> None:
    with serving() as server, pytest.raises(ModelError, match="model_credential_missing: KEY: "):
        client(server.url, transport, secret="").post("x", {}, HASH)
    assert server.seen == []


def test_failures_that_pass_are_tried_again(transport: HttpTransport) -> None:
    waits: list[float] = []
    with serving(refusing(429, retry_after="2"), silent, saying(b"1")) as server:
        assert client(server.url, transport, waits=waits).post("x", {}, HASH) == 1
    assert len(server.seen) == 3
    assert waits[0] == 2.0
    assert len({seen.body for seen in server.seen}) == 1


def test_nobody_listening_ends_after_all_attempts(transport: HttpTransport) -> None:
    waits: list[float] = []
    with pytest.raises(ModelError) as caught:
        client(f"http://127.0.0.1:{unused_port()}", transport, waits=waits).post("x", {}, HASH)
    assert str(caught.value) == (
        "retry_exhausted: vendor/e5: no answer after 3 attempts; the last one ended in transport_error (Connection "
        "refused)\n  fix: run the same command again once the provider answers; what it has answered so far is kept"
    )
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("status", "code", "requests"),
    [
        (401, "authentication_failed", 1),
        (403, "authentication_failed", 1),
        (400, "provider_rejected", 1),
        (302, "provider_rejected", 1),
        (503, "retry_exhausted", 3),
    ],
)
def test_refusal_tells_neither_credential_nor_text_where_the_server_echoes_both(
    transport: HttpTransport, status: int, code: str, requests: int
) -> None:
    message, server = refused(transport, echoing(status))
    body = f"Bearer {SECRET}".encode() + server.seen[0].body
    assert f"HTTP {status} ({len(body)} bytes, {sha256_of(body)})" in message
    assert message.startswith(f"{code}: vendor/e5: ")
    assert len(server.seen) == requests


def test_request_id_of_the_server_is_told(transport: HttpTransport) -> None:
    message, _ = refused(transport, refusing(400, b"", x_request_id="req-1"))
    assert ", request id req-1)" in message
    message, _ = refused(transport, refusing(400, b"", x_request_id="two words"))
    assert "request id" not in message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'"' + TEXT.encode(),
        b"\xff\xfe",
        b"[NaN]",
        b"[" * 200_000,
        b"[" + b"9" * 5000 + b"]",
        b"x" * (MAX_BODY_BYTES + 1),
    ],
    ids=["empty", "cut", "text", "no UTF-8", "NaN", "deep", "endless number", "oversize"],
)
def test_answer_that_is_no_json_is_refused_at_once(transport: HttpTransport, body: bytes) -> None:
    message, server = refused(transport, saying(body))
    size = "over 16 MiB or encoded" if len(body) > MAX_BODY_BYTES else f"{len(body)} bytes, {sha256_of(body)}"
    assert message == (
        f"malformed_response: vendor/e5: answered what cannot be used: HTTP 200 ({size}) is no JSON in UTF-8 of at "
        "most 16 MiB\n  fix: nothing of it was kept; check that the model serves this kind of request, then run again"
    )
    assert len(server.seen) == 1


def test_replay_client_tells_why_nobody_is_asked() -> None:
    problem = Problem(code="model_provider_invalid", message="no registry")
    with pytest.raises(ConfigError) as caught:
        ReplayClient(problem).post("x", {}, HASH)
    assert caught.value.problems == (problem,)


def test_body_is_readable_json(transport: HttpTransport) -> None:
    with serving(saying(b"1")) as server:
        client(server.url, transport).post("x", {"z": 1, "a": None}, HASH)
    assert json.loads(server.seen[0].body) == {"a": None, "model": "e5", "z": 1}
