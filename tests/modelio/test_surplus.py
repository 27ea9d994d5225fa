"""Clients may be used again whose connections hold nothing that nobody asked for, and can be looked into."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from bfcl.modelio.surplus import is_clean
from tests.embedding_server import saying, serving


def test_client_is_clean_before_and_after_an_answer() -> None:
    with serving(saying(b"fine")) as server, httpx.Client() as client:
        assert is_clean(client)
        client.post(f"{server.url}/x", content=b"{}")
        (connection,) = client._transport._pool.connections  # type: ignore[attr-defined]
        assert connection.is_idle()
        assert is_clean(client)


def test_client_is_clean_after_no_connection_came_to_be() -> None:
    with httpx.Client() as client:
        with pytest.raises(httpx.TransportError):
            client.post("http://127.0.0.1:1/x", content=b"{}")
        assert is_clean(client)


def holding(data: bytes) -> Any:
    return SimpleNamespace(_h11_state=SimpleNamespace(trailing_data=(data, False)))


@pytest.mark.parametrize(
    ("connections", "clean"),
    [
        ([], True),
        ([SimpleNamespace(_connection=None)], True),
        ([holding(b"")], True),
        ([holding(b"\n")], False),
        (
            [SimpleNamespace(_connection=holding(b"x"))],
            False,
        ),
        ([SimpleNamespace(spoken="another protocol")], False),
    ],
)
def test_connection_that_holds_bytes_or_cannot_be_looked_into_is_unclean(connections: list[Any], clean: bool) -> None:
    transport = SimpleNamespace(_pool=SimpleNamespace(connections=connections))
    client: Any = SimpleNamespace(_transport=transport, _mounts={})
    assert is_clean(client) is clean
    client._mounts = {"all://": transport, "none://": None}
    assert is_clean(client) is clean
