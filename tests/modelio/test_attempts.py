"""What is tried again, after which wait, and what is told at the end. No wait is real: the clock is the test's."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.digest import Digest, sha256_of
from bfcl.errors import ModelError
from bfcl.modelio.attempts import Asked, Clock, Patience, attempted, delay_s, retry_after_s, status_of
from bfcl.modelio.transport import Reply, TransportFailure

ASKED = Asked(subject="vendor/m", request_hash=Digest("sha256:" + "0" * 64))
FINE = Reply(200, {}, b"{}")
EMPTY = f"0 bytes, {sha256_of(b'')}"


class Time:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.clock = Clock(monotonic=lambda: self.now, wall=lambda: self.now, pause=self.pause)

    def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def sending(*replies: Reply | TransportFailure) -> Callable[[float], Reply]:
    left = list(replies)

    def send(_: float) -> Reply:
        reply = left.pop(0)
        if isinstance(reply, TransportFailure):
            raise reply
        return reply

    return send


def refused(time: Time, *replies: Reply | TransportFailure, **patience: float) -> str:
    with pytest.raises(ModelError) as caught:
        attempted(sending(*replies), ASKED, Patience(**patience), time.clock)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("http_status", "status"),
    [
        (200, "ok"),
        (201, "provider_rejected"),
        (302, "provider_rejected"),
        (400, "provider_rejected"),
        (401, "authentication_failed"),
        (403, "authentication_failed"),
        (404, "provider_rejected"),
        (408, "provider_unavailable"),
        (429, "rate_limited"),
        (500, "provider_unavailable"),
        (501, "provider_rejected"),
        (504, "provider_unavailable"),
    ],
)
def test_statuses_mean_what_the_contract_says(http_status: int, status: str) -> None:
    assert status_of(http_status) == status


def test_transient_failures_are_tried_again_with_growing_waits() -> None:
    time = Time()
    failures = [TransportFailure("timeout", "x"), TransportFailure("transport_error", "x"), Reply(503, {}, b"")]
    assert attempted(sending(*failures, Reply(429, {}, b""), FINE), ASKED, Patience(), time.clock) == FINE
    assert time.waits == [delay_s(ASKED.request_hash, index, 0.5) for index in range(4)]
    assert all(0.375 * 2**index <= wait <= 0.625 * 2**index for index, wait in enumerate(time.waits))


def test_waits_are_pinned_and_differ_by_request() -> None:
    assert [delay_s(ASKED.request_hash, index, 1.0) for index in range(3)] == [
        1.0329709315632867,
        2.3452582589456017,
        4.6378728923476,
    ]
    assert len({delay_s(str(number), 0, 1.0) for number in range(20)}) == 20


def test_longer_retry_after_decides() -> None:
    time = Time()
    replies = (Reply(429, {"retry-after": "7"}, b""), Reply(503, {"retry-after": formatdate(1037, usegmt=True)}, b""))
    attempted(sending(*replies, FINE), ASKED, Patience(), time.clock)
    assert time.waits == [7.0, 30.0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0.0),
        ("3", 3.0),
        (" 12 ", 12.0),
        ("-3", 0.0),
        ("1.5", 0.0),
        ("soon", 0.0),
        ("9" * 400, 999999999.0),
        ("0" * 500 + "5", 5.0),
        ("٣", 0.0),
        ("", 0.0),
        ("nan", 0.0),
        (" , ,", 0.0),
        ("1 2 3 4 5 6", 0.0),
        ("Thu, 01 Jan 1970 00:17:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:17:00 -0000", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 99 Jan 1970 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 2024 99999999999999999999:00:00 GMT", 0.0),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 -2359", 999999999.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float) -> None:
    assert retry_after_s(header, 1000.0) == seconds


@given(st.text())
def test_no_retry_after_is_more_than_nonsense(header: str) -> None:
    assert 0 <= retry_after_s(header, 1000.0) <= 999_999_999


def test_wait_of_the_thousandth_retry_is_one_that_a_timer_takes() -> None:
    assert delay_s(ASKED.request_hash, 5000, 0.5) == 999_999_999


def test_endless_patience_is_one_that_a_socket_takes() -> None:
    given_s: list[float] = []

    def send(timeout_s: float) -> Reply:
        given_s.append(timeout_s)
        return FINE

    attempted(send, ASKED, Patience(timeout_s=1e300, deadline_s=1e300), Time().clock)
    assert given_s == [1e6]


def test_attempts_are_bounded() -> None:
    time = Time()
    message = refused(time, *[Reply(503, {}, b"")] * 3, max_retries=2)
    assert message == (
        f"retry_exhausted: vendor/m: no answer after 3 attempts; the last one ended in HTTP 503 ({EMPTY})\n"
        "  fix: run the same command again once the provider answers; what it has answered so far is kept"
    )
    assert len(time.waits) == 2


def test_wait_beyond_the_deadline_is_not_begun() -> None:
    time = Time()
    message = refused(time, Reply(429, {"retry-after": "3600"}, b""))
    assert message == (
        f"retry_exhausted: vendor/m: no answer after 1 attempt; the last one ended in HTTP 429 ({EMPTY}), and the "
        "next, 3600 s later, would come too late\n"
        "  fix: run the same command again once the provider answers; what it has answered so far is kept"
    )
    assert time.waits == []


def test_attempt_gets_no_more_time_than_is_left() -> None:
    time = Time()
    given: list[float] = []

    def send(timeout_s: float) -> Reply:
        given.append(timeout_s)
        time.now += timeout_s
        raise TransportFailure("timeout", "no answer")

    with pytest.raises(ModelError, match="retry_exhausted"):
        attempted(send, ASKED, Patience(timeout_s=60, deadline_s=100), time.clock)
    assert len(given) == 2
    assert given[0] == 60
    assert given[1] == pytest.approx(100 - 60 - time.waits[0])


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credential_stops_at_once(status: int) -> None:
    time = Time()
    assert refused(time, Reply(status, {"x-request-id": "r-1"}, b"no")) == (
        f"authentication_failed: vendor/m: answered HTTP {status} (2 bytes, {sha256_of(b'no')}, request id r-1): it "
        "does not accept the credential\n"
        "  fix: check the variable that `api_key` of the provider names, and what that key may use"
    )
    assert time.waits == []


def test_rejection_and_redirect_stop_at_once() -> None:
    time = Time()
    assert refused(time, Reply(302, {}, None)) == (
        "provider_rejected: vendor/m: answered HTTP 302 (over 16 MiB or encoded); expected 200, and asking again would "
        "change nothing\n"
        "  fix: check `endpoint` of the provider and the name of the model; redirects are not followed"
    )
    assert time.waits == []
