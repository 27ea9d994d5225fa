"""The live client against a real endpoint: what goes out, what each outcome is told as, and when it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import Json
from bfcl.digest import sha256_of
from bfcl.errors import EvalError
from bfcl.modelio.attempts import delay_s
from bfcl.modelio.chat_reply import MalformedReply, read_reply
from bfcl.modelio.exchange import ChatOutcome
from bfcl.modelio.transport import MAX_BODY_BYTES
from tests.embedding_server import unused_port
from tests.modelio.chat_server import (
    KEY,
    Answering,
    Manner,
    Server,
    candidate,
    http,
    live,
    reply,
    request,
    run,
    saying,
    serving,
    silent,
    well,
)

MANY = 200


def far() -> float:
    return time.monotonic() + 100


def outcome(*manners: Manner, **settings: Any) -> tuple[ChatOutcome, Server]:
    async def ask() -> tuple[ChatOutcome, Server]:
        async with serving(*manners) as server:
            of = candidate(server.url)
            async with live(of, **settings) as chat:
                return await chat.complete(request(of), far()), server

    return run(ask())


def refusal(*manners: Manner, **settings: Any) -> tuple[EvalError, int]:
    async def ask() -> tuple[EvalError, int]:
        async with serving(*manners) as server:
            of = candidate(server.url)
            async with live(of, **settings) as chat:
                with pytest.raises(EvalError) as caught:
                    await chat.complete(request(of), far())
                return caught.value, len(server.seen)

    return run(ask())


# --- what goes out ---


def test_hashed_bytes_go_out_with_the_credential_and_little_else() -> None:
    told, server = outcome(well("ok", x_request_id="r-1"))
    (seen,) = server.seen
    one = request(candidate(server.url))
    assert seen.line == "POST /v1/chat/completions HTTP/1.1"
    assert seen.body == one.body_text.encode()
    assert seen.headers == {
        "host": server.url.removeprefix("http://").removesuffix("/v1"),
        "connection": "close",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": "bfcl",
        "content-type": "application/json",
        "content-length": str(len(seen.body)),
        "authorization": f"Bearer {KEY}",
    }
    assert told.request_hash == one.request_hash


def test_usable_reply_is_a_completed_call() -> None:
    told, _ = outcome(well("ok", x_request_id="r-1"))
    (attempt,) = told.attempts
    assert (told.status, told.replayed) == ("completed", False)
    assert told.response is not None
    assert (told.response.assistant_content, told.response.selected_attempt) == ("ok", 0)
    assert (attempt.status, attempt.http_status, attempt.retryable, attempt.diagnostic) == (
        "completed",
        200,
        False,
        None,
    )
    assert (attempt.attempt_index, attempt.observed_at) == (0, "2001-09-09T01:46:40.000+00:00")
    assert attempt.provider_request_id == told.response.provider_request_id == "r-1"
    assert attempt.raw_response is not None
    assert sha256_of(attempt.raw_response.encode()) == attempt.raw_response_hash == told.response.raw_response_hash


def test_connections_are_not_kept_and_no_cookie_comes_back() -> None:
    async def ask() -> Server:
        async with serving(well(set_cookie="a=b; Path=/")) as server:
            of = candidate(server.url)
            async with live(of) as chat:
                for turn in range(3):
                    await chat.complete(request(of, turn=turn), far())
        return server

    server = run(ask())
    assert (len(server.seen), server.connections) == (3, 3)
    assert all("cookie" not in seen.headers for seen in server.seen)


def test_netrc_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hunter2\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    _, server = outcome(well())
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> Server:
        async with serving(well()) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
            of = candidate("http://models.invalid/v1")
            async with live(of) as chat:
                assert (await chat.complete(request(of), far())).status == "completed"
        return proxy

    assert run(ask()).seen[0].line == "POST http://models.invalid/v1/chat/completions HTTP/1.1"


def test_unusable_proxy_is_told_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"gopher://me:{KEY}@127.0.0.1:1")
    told, server = outcome(well(), max_retries=0)
    assert (told.status, server.seen) == ("retry_exhausted", [])
    assert told.attempts[0].status == "transport_error"
    assert told.attempts[0].diagnostic == "a proxy or certificate file that the environment names cannot be used"


def test_certificate_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))

    async def ask() -> tuple[ChatOutcome, int]:
        async with serving(well(), tls=context) as server:
            of = candidate(server.url)
            async with live(of, max_retries=0) as chat:
                return await chat.complete(request(of), far()), len(server.seen)

    told, count = run(ask())
    assert (told.status, told.attempts[0].status, count) == ("retry_exhausted", "transport_error", 0)
    assert str(told.attempts[0].diagnostic).startswith("certificate refused: ")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    told, count = run(ask())
    assert (told.status, count) == ("completed", 1)


# --- how many at once ---


def test_as_many_calls_as_allowed_are_in_flight_and_never_more() -> None:
    full = asyncio.Event()
    flying: list[int] = [0, 0]

    async def together(answering: Answering) -> None:
        flying[0] += 1
        flying[1] = max(flying)
        if flying[0] == MANY:
            full.set()
        # Nobody is answered before all of them are here.
        await full.wait()
        flying[0] -= 1
        await well()(answering)

    async def ask() -> list[ChatOutcome]:
        async with serving(together) as server:
            of = candidate(server.url)
            async with live(of, max_parallel=MANY) as chat:
                calls = [chat.complete(request(of, task_id=f"t-{index}"), far()) for index in range(MANY + 50)]
                return await asyncio.gather(*calls)

    outcomes = run(ask())
    assert {told.status for told in outcomes} == {"completed"}
    assert flying[1] == MANY


# --- what each outcome is ---


@pytest.mark.parametrize(
    ("http_status", "status"),
    [
        (201, "provider_rejected"),
        (302, "provider_rejected"),
        (400, "provider_rejected"),
        (404, "provider_rejected"),
        (501, "provider_rejected"),
        (408, "provider_unavailable"),
        (429, "rate_limited"),
        (500, "provider_unavailable"),
        (503, "provider_unavailable"),
    ],
)
def test_other_status_is_told_without_its_body(http_status: int, status: str) -> None:
    told, server = outcome(saying(http_status, b"nobody may repeat", x_request_id="r-1"))
    passing = status != "provider_rejected"
    assert (told.status, told.response) == ("retry_exhausted" if passing else "provider_rejected", None)
    assert len(told.attempts) == len(server.seen) == (3 if passing else 1)
    assert [attempt.attempt_index for attempt in told.attempts] == list(range(len(told.attempts)))
    for attempt in told.attempts:
        digest = sha256_of(b"nobody may repeat")
        assert (attempt.status, attempt.http_status, attempt.retryable) == (status, http_status, passing)
        assert (attempt.raw_response, attempt.raw_response_hash) == (None, digest)
        assert attempt.diagnostic == f"HTTP {http_status} (17 bytes, {digest}, request id r-1)"
    assert "nobody" not in repr(told)


@pytest.mark.parametrize("http_status", [401, 403])
def test_refused_credential_stops_the_run_after_one_request(http_status: int) -> None:
    error, count = refusal(saying(http_status, f"no: Bearer {KEY}".encode()))
    body = f"no: Bearer {KEY}".encode()
    assert str(error) == (
        f"eval_candidate_authentication_failed: kiln: the endpoint answered HTTP {http_status} ({len(body)} bytes, "
        f"{sha256_of(body)}): it does not accept the credential\n"
        "  fix: check the key that KILN_KEY holds, and what it may use"
    )
    assert (count, error.problems[0].field) == (1, "api.api_key_env")


@pytest.mark.parametrize(
    ("environment", "fault"),
    [
        ({}, "is not set"),
        ({"KILN_KEY": " "}, "is not set"),
        ({"KILN_KEY": "a\nb"}, "holds what no HTTP header can carry"),
        ({"KILN_KEY": f"{KEY} "}, "holds what no HTTP header can carry"),
    ],
)
def test_missing_credential_asks_nobody(environment: dict[str, str], fault: str) -> None:
    error, count = refusal(well(), environment=environment)
    assert str(error) == (
        f"eval_candidate_credentials_missing: kiln: the environment variable KILN_KEY {fault}, and a request is to be "
        "sent\n  fix: export KILN_KEY with the provider's key, then run the same command again"
    )
    assert (count, error.problems[0].field) == (0, "api.api_key_env")


def test_request_of_another_candidate_is_not_sent() -> None:
    async def ask() -> list[Any]:
        async with serving(well()) as server:
            async with live(candidate(server.url)) as chat:
                with pytest.raises(EvalError, match=r"eval_candidate_request_invalid: kiln: .*its `base_url` is"):
                    await chat.complete(request(candidate()), far())
            return server.seen

    assert run(ask()) == []


@pytest.mark.parametrize(
    ("body", "diagnostic", "kept"),
    [
        (b"garbage", "the reply is no JSON object in UTF-8", True),
        (b"", "the reply is no JSON object in UTF-8", True),
        (b'{"choices": []}', "the reply has 0 choices; expected exactly one", True),
        (b"\xff\xfe", f"HTTP 200 (2 bytes, {sha256_of(bytes([255, 254]))}) is no UTF-8", False),
    ],
)
def test_reply_that_is_none_is_malformed_and_not_asked_again(body: bytes, diagnostic: str, kept: bool) -> None:
    told, server = outcome(saying(200, body))
    (attempt,) = told.attempts
    assert (told.status, told.response, len(server.seen)) == ("malformed_response", None, 1)
    assert (attempt.status, attempt.http_status, attempt.diagnostic) == ("malformed_response", 200, diagnostic)
    assert attempt.raw_response == (body.decode() if kept else None)
    assert attempt.raw_response_hash == sha256_of(body)


@pytest.mark.parametrize("manner", [saying(200, b"x" * (17 << 20)), saying(200, b"\x1f\x8b", content_encoding="gzip")])
def test_oversize_or_encoded_reply_is_malformed_and_not_kept(manner: Manner) -> None:
    told, _ = outcome(manner)
    (attempt,) = told.attempts
    assert (told.status, attempt.raw_response, attempt.raw_response_hash) == ("malformed_response", None, None)
    assert attempt.diagnostic == "HTTP 200 (over 16 MiB or encoded)"


def test_reply_up_to_the_limit_is_read() -> None:
    whole = json.dumps({"choices": [{"message": {"content": ""}}]}).encode()
    told, _ = outcome(saying(200, whole + b" " * (MAX_BODY_BYTES - len(whole))))
    assert told.status == "completed"


def test_redirect_is_not_followed() -> None:
    async def ask() -> tuple[ChatOutcome, int]:
        async with serving(well()) as other, serving(saying(307, location=f"{other.url}/chat/completions")) as server:
            of = candidate(server.url)
            async with live(of) as chat:
                return await chat.complete(request(of), far()), len(other.seen)

    told, count = run(ask())
    assert (told.status, told.attempts[0].http_status, count) == ("provider_rejected", 307, 0)


def test_closed_connection_and_nobody_listening_are_transport_errors() -> None:
    told, server = outcome(silent, silent, well("back"))
    assert [attempt.status for attempt in told.attempts] == ["transport_error", "transport_error", "completed"]
    assert (told.status, len(server.seen)) == ("completed", 3)
    assert told.response is not None
    assert told.response.selected_attempt == 2

    async def ask() -> ChatOutcome:
        of = candidate(f"http://127.0.0.1:{unused_port()}/v1")
        async with live(of, max_retries=0) as chat:
            return await chat.complete(request(of), far())

    told = run(ask())
    assert (told.status, told.attempts[0].diagnostic) == ("retry_exhausted", "Connection refused")
    assert told.attempts[0].http_status is None


# --- when it is asked again, and when it ends ---


def test_waits_grow_by_the_request_and_a_longer_retry_after_decides() -> None:
    pauses: list[float] = []
    date = formatdate(1_000_000_009, usegmt=True)
    told, server = outcome(
        saying(503),
        saying(429, retry_after="7"),
        saying(503, retry_after=date),
        saying(503, retry_after="soon"),
        well(),
        max_retries=5,
        pauses=pauses,
    )
    key = request(candidate(server.url)).request_hash
    assert pauses == [delay_s(key, 0, 0.25), 7.0, 9.0, delay_s(key, 3, 0.25)]
    assert [attempt.retry_after_s for attempt in told.attempts] == [None, 7.0, 9.0, None, None]
    assert told.status == "completed"


@pytest.mark.parametrize("max_retries", [0, 1, 4])
def test_attempts_are_one_and_the_retries(max_retries: int) -> None:
    pauses: list[float] = []
    told, server = outcome(saying(500), max_retries=max_retries, pauses=pauses)
    assert (told.status, len(told.attempts), len(server.seen)) == ("retry_exhausted", 1 + max_retries, 1 + max_retries)
    assert len(pauses) == max_retries


def test_wait_beyond_the_deadline_is_not_begun() -> None:
    pauses: list[float] = []
    told, server = outcome(saying(429, retry_after="3600"), pauses=pauses)
    assert (told.status, told.attempts[0].retry_after_s) == ("retry_exhausted", 3600.0)
    assert (len(server.seen), pauses) == (1, [])


def dripping(start: bytes) -> Manner:
    async def drip(answering: Answering) -> None:
        answering.writer.write(start)
        with suppress(OSError):
            while not answering.writer.is_closing():
                answering.writer.write(b"x")
                await answering.writer.drain()
                await asyncio.sleep(0.005)

    return drip


async def mute(answering: Answering) -> None:
    """Never answers."""
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "manner",
    [mute, dripping(b"HTTP/1.1 200 OK\r\n"), dripping(b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n")],
    ids=["never", "headers", "body"],
)
@pytest.mark.parametrize("bounded_by", ["timeout", "deadline"])
def test_one_deadline_ends_a_call_however_the_answer_trickles(manner: Manner, bounded_by: str) -> None:
    async def ask() -> tuple[ChatOutcome, int]:
        async with serving(manner) as server:
            of = candidate(server.url)
            async with live(of, timeout_s=0.5 if bounded_by == "timeout" else 1000.0) as chat:
                deadline = far() if bounded_by == "timeout" else time.monotonic() + 0.5
                return await chat.complete(request(of), deadline), len(server.seen)

    told, count = run(ask())
    (attempt,) = told.attempts
    assert (told.status, attempt.status, attempt.retryable) == ("retry_exhausted", "timeout", True)
    assert (attempt.diagnostic, attempt.http_status) == ("no whole answer before the deadline", None)
    assert (count, attempt.raw_response, attempt.raw_response_hash) == (1, None, None)


def test_deadline_covers_all_attempts_together() -> None:
    told, server = outcome(saying(500), mute, timeout_s=1.5, max_retries=9)
    assert [attempt.status for attempt in told.attempts] == ["provider_unavailable", "timeout"]
    assert (told.status, len(server.seen)) == ("retry_exhausted", 2)


def test_deadline_that_is_past_ends_the_call_at_once() -> None:
    async def ask() -> tuple[ChatOutcome, int]:
        async with serving(mute) as server:
            of = candidate(server.url)
            async with live(of) as chat:
                return await chat.complete(request(of), time.monotonic() - 1), len(server.seen)

    told, count = run(ask())
    assert (told.status, [attempt.status for attempt in told.attempts], count) == ("retry_exhausted", ["timeout"], 0)


def test_call_after_one_that_was_cut_off_is_answered_by_its_own_reply() -> None:
    async def late(answering: Answering) -> None:
        answering.writer.write(http(200, b"x" * 10)[:-5])
        await answering.writer.drain()
        await asyncio.Event().wait()

    async def ask() -> list[ChatOutcome]:
        async with serving(late, well("second")) as server:
            of = candidate(server.url)
            async with live(of, max_parallel=1) as chat:
                first = await chat.complete(request(of), time.monotonic() + 0.5)
                return [first, await chat.complete(request(of, turn=1), far())]

    first, second = run(ask())
    assert (first.status, second.status) == ("retry_exhausted", "completed")
    assert second.response is not None
    assert second.response.assistant_content == "second"


def test_cancelled_call_ends_as_cancelled_and_the_client_goes_on() -> None:
    async def ask() -> ChatOutcome:
        here = asyncio.Event()

        async def hold(answering: Answering) -> None:
            here.set()
            await mute(answering)

        async with serving(hold, well()) as server:
            of = candidate(server.url)
            async with live(of, max_parallel=1) as chat:
                task = asyncio.create_task(chat.complete(request(of), far()))
                await here.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return await chat.complete(request(of, turn=1), far())

    assert run(ask()).status == "completed"


# --- nobody's secret shows ---


def echo(status: int, shown: Callable[[str], str] = str) -> Manner:
    """Hands the credential back wherever an answer has room."""

    async def manner(answering: Answering) -> None:
        key = shown(answering.seen.headers["authorization"].removeprefix("Bearer "))
        body = f'{{"choices": [{{"message": {{"content": "you sent {key}"}}}}]}}'
        await saying(status, body.encode(), x_request_id=KEY, retry_after=KEY)(answering)

    return manner


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


@pytest.mark.parametrize(
    ("manner", "status"),
    [
        (echo(200), "malformed_response"),
        (echo(200, escaped), "malformed_response"),
        (echo(400), "provider_rejected"),
        (echo(429), "retry_exhausted"),
        (echo(500), "retry_exhausted"),
        (silent, "retry_exhausted"),
    ],
    ids=["reply", "escaped", "rejected", "limited", "broken", "closed"],
)
def test_credential_shows_in_no_outcome_and_no_log(
    manner: Manner, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told, server = outcome(manner)
    assert told.status == status
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert all(KEY not in text for text in (repr(told), json.dumps(told.to_json()), caplog.text))
    assert all(attempt.raw_response is None and attempt.provider_request_id is None for attempt in told.attempts)
    if status == "malformed_response":
        assert str(told.attempts[0].diagnostic).endswith(") repeats the credential")


def test_credential_shows_in_no_refusal() -> None:
    error, _ = refusal(echo(401))
    seen: BaseException | None = error
    while seen is not None:
        assert KEY not in f"{seen!r} {seen} {vars(seen)}"
        seen = seen.__cause__ or seen.__context__


def in_base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def with_percents(text: str) -> str:
    return "".join(f"%{ord(letter):02x}" for letter in text)


@pytest.mark.parametrize("header", ["x_request_id", "request_id", "x_nv_request_id"])
@pytest.mark.parametrize(
    "value", [KEY, in_base64(KEY), in_base64(f"Bearer {KEY}"), f"r-1/{in_base64(f'.{KEY}.')}", with_percents(KEY)]
)
@pytest.mark.parametrize("status", [200, 503])
def test_request_id_with_the_credential_in_any_spelling_is_not_kept(status: int, value: str, header: str) -> None:
    told, _ = outcome(saying(status, json.dumps(reply()).encode(), **{header: value}))
    assert told.status == ("completed" if status == 200 else "retry_exhausted")
    assert [attempt.provider_request_id for attempt in told.attempts] == [None] * len(told.attempts)
    assert value not in json.dumps(told.to_json())


def test_credential_of_digits_is_no_time_to_wait() -> None:
    told, _ = outcome(saying(503, retry_after="90210007"), environment={"KILN_KEY": "90210007"}, max_retries=0)
    assert told.attempts[0].retry_after_s is None


QUOTED = 'canary-"5b1f\\0c9/e7d'
SLASHED = "canary/5b1f/0c9e7d"


def slashed(document: Json) -> bytes:
    return json.dumps(document).replace("/", "\\/").encode()


def spelled(document: Json, key: str) -> bytes:
    """With each letter of the key by its number."""
    return json.dumps(document).replace(json.dumps(key)[1:-1], escaped(key)).encode()


def calling(arguments: str) -> Json:
    return reply(None, tool_calls=[{"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}])


@pytest.mark.parametrize(
    ("key", "body"),
    [
        (SLASHED, slashed({**reply(), "debug": {"auth": SLASHED}})),
        (SLASHED, slashed({"error": {"message": f"bad key {SLASHED}"}})),
        (SLASHED, slashed({**reply(), SLASHED: 1})),
        (KEY, spelled({**reply(), "debug": KEY}, KEY)),
        (KEY, spelled({"error": KEY}, KEY)),
        (KEY, spelled({"error": KEY}, KEY)[:-1]),
        (QUOTED, json.dumps(reply(f"key: {QUOTED}")).encode()),
        (QUOTED, json.dumps({"error": QUOTED}).encode()),
        (QUOTED, f"no JSON: {QUOTED}".encode()),
        (QUOTED, json.dumps(calling(json.dumps({"a": QUOTED}))).encode()),
        (KEY, json.dumps(calling(f'{{"a": "{escaped(KEY)}"}}')).encode()),
        (KEY, json.dumps(calling(f'{{"a": "{escaped(KEY)}" bad')).encode()),
        ("k3y-9", json.dumps(reply("Bearer k3y-9")).encode()),
        ("k3y9", json.dumps({"error": "k3y9"}).encode()),
    ],
)
def test_credential_in_any_spelling_of_a_reply_is_not_kept(key: str, body: bytes) -> None:
    told, _ = outcome(saying(200, body), environment={"KILN_KEY": key})
    (attempt,) = told.attempts
    assert (told.status, told.response, attempt.raw_response) == ("malformed_response", None, None)
    assert attempt.diagnostic == f"HTTP 200 ({len(body)} bytes, {sha256_of(body)}) repeats the credential"


@pytest.mark.parametrize(
    ("key", "content"),
    [("EMPTY", "the kiln is EMPTY"), ("none", "none"), ("abc", "abc"), ("kiln", "kilns, and the ekiln")],
)
def test_placeholder_that_a_reply_holds_by_chance_changes_nothing(key: str, content: str) -> None:
    told, _ = outcome(well(content), environment={"KILN_KEY": key})
    assert told.status == "completed"


@pytest.mark.parametrize("status", [200, 400])
def test_retry_after_of_an_answer_that_is_final_is_passed_over(status: int) -> None:
    told, _ = outcome(saying(status, json.dumps(reply()).encode(), retry_after="7"))
    assert told.attempts[0].retry_after_s is None


def test_retry_after_beyond_all_years_is_nonsense() -> None:
    told, server = outcome(saying(429, retry_after="Mon, 01 Jan 99999999999999999999 00:00:00 GMT"), well())
    assert ([attempt.retry_after_s for attempt in told.attempts], len(server.seen)) == ([None, None], 2)


# --- a reply that takes long to read ---


def long_one() -> bytes:
    call: Json = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return json.dumps(reply(None, tool_calls=[call] * 50_000)).encode()


def test_long_reply_is_read_while_the_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    body = long_one()
    readers: list[int] = []

    def noted(*arguments: Any, **named: Any) -> Any:
        readers.append(threading.get_ident())
        return read_reply(*arguments, **named)

    monkeypatch.setattr("bfcl.modelio.chat_live.read_reply", noted)
    told, _ = outcome(saying(200, body))
    assert told.response is not None
    assert len(told.response.tool_calls) == 50_000
    outcome(well())
    first, second = readers
    assert (first != threading.get_ident(), second == threading.get_ident()) == (True, True)


def test_deadline_holds_for_reading_too(monkeypatch: pytest.MonkeyPatch) -> None:
    late = threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        late.wait(100)
        raise MalformedReply("late")

    monkeypatch.setattr("bfcl.modelio.chat_live.read_reply", slow)

    async def ask() -> ChatOutcome:
        async with serving(saying(200, long_one())) as server:
            of = candidate(server.url)
            try:
                async with live(of, timeout_s=2.0, max_retries=0) as chat:
                    return await chat.complete(request(of), far())
            finally:
                late.set()

    (attempt,) = run(ask()).attempts
    assert (attempt.status, attempt.http_status, attempt.raw_response_hash) == ("timeout", None, None)
    assert attempt.diagnostic == "no whole answer before the deadline"


@pytest.mark.parametrize("limit_s", [1e10, 1e300])
def test_endless_limits_are_kept(limit_s: float) -> None:
    told, _ = outcome(saying(503), well(), timeout_s=limit_s)
    assert told.status == "completed"
