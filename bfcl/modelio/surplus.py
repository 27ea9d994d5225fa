"""Has a server sent more than it was asked for? Then the next request must not be answered from that. Rule: §13.4.

Bytes behind the end of an answer wait in the buffer of a connection that is kept, where the next answer is read from:
a second reply, or a stray line end, would count as what another request was answered. The HTTP library looks only at
what still waits in the socket. What it holds is read here from where it keeps it, which it promises nobody: where that
is not found, a connection counts as unclean, and every request gets a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


def is_clean(client: httpx.Client | httpx.AsyncClient) -> bool:
    """Whether every connection that the client keeps has given all that it received."""
    try:
        return not any(_waiting(client))
    except (AttributeError, TypeError, ValueError):
        return False


def _waiting(client: httpx.Client | httpx.AsyncClient) -> Iterator[bytes]:
    transports = [client._transport, *client._mounts.values()]
    for transport in transports:
        if transport is None:
            continue
        for connection in transport._pool.connections:
            speaking = _speaking(connection)
            if speaking is not None:
                yield speaking._h11_state.trailing_data[0]


def _speaking(connection: Any) -> Any:
    """The connection that speaks HTTP, which proxies and negotiation wrap; None where it is not open yet."""
    while connection is not None and not hasattr(connection, "_h11_state"):
        connection = connection._connection
    return connection
