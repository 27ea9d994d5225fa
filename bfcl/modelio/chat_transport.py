"""How do many requests reach a server at once, and what of each answer is kept? Rule: translation.md §13.4."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bfcl.modelio.transport import (
    KEPT,
    MAX_BODY_BYTES,
    ONCE,
    UNUSABLE,
    Post,
    Reply,
    TransportFailure,
    no_cookies,
    quiet,
    reason,
)

if TYPE_CHECKING:
    import ssl

    import httpx


class AsyncTransport:
    """Over httpx, for one event loop: proxies of the environment count, `.netrc` does not, redirects are answers.

    Each request in flight has a client of its own, taken from those that are free. One pool for all would look through
    every connection, several times, whenever a request begins or ends: at 200 in flight that alone takes 13 ms of CPU a
    request, ten times what the request takes.
    """

    def __init__(self, max_parallel: int) -> None:
        self._slots = asyncio.Semaphore(max_parallel)
        self._free: list[httpx.AsyncClient] = []
        self._tls: ssl.SSLContext | None = None

    async def post(self, request: Post) -> Reply:
        """Send and wait for the whole answer, however long: the caller sets a limit and cancels.

        Raises: TransportFailure `transport_error`.
        """
        # Costs a tenth of a second, and a run whose answers are recorded asks nobody.
        import httpx

        async with self._slots:
            client = self._free.pop() if self._free else self._opened()
            try:
                async with client.stream(
                    "POST", request.url, headers=dict(request.headers), content=request.body
                ) as answer:
                    headers = {name: answer.headers[name] for name in KEPT if name in answer.headers}
                    encoding = answer.headers.get("content-encoding", "identity").lower()
                    body = await _bounded(answer.aiter_raw()) if encoding == "identity" else None
                    return Reply(answer.status_code, headers, body)
            except (httpx.TransportError, httpx.InvalidURL, OSError) as error:
                # Not chained: the library's own text may quote a header.
                detail = reason(error)
            finally:
                self._free.append(client)
        raise TransportFailure("transport_error", detail)

    async def aclose(self) -> None:
        """Let go of the clients. Call it when nothing is in flight; safe to call twice."""
        while self._free:
            await self._free.pop().aclose()

    def _opened(self) -> httpx.AsyncClient:
        import httpx

        quiet()
        _settle_what_is_absent()
        try:
            if self._tls is None:
                self._tls = httpx.create_ssl_context()
            return httpx.AsyncClient(
                verify=self._tls,
                follow_redirects=False,
                cookies=no_cookies(),
                timeout=None,
                headers=ONCE,
            )
        except (ValueError, ImportError, OSError, httpx.InvalidURL):
            # Not chained: the text may quote a proxy's address with its password.
            pass
        raise TransportFailure("transport_error", UNUSABLE)


async def _bounded(pieces: AsyncIterator[bytes]) -> bytes | None:
    """The pieces together, None once they are over the limit."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def _settle_what_is_absent() -> None:
    """Let an import that fails fail at once: httpcore tries this one six times a request, where only trio needs it.

    Python looks through every directory each time, which costs 40 µs or more.
    """
    if "sniffio" not in sys.modules and find_spec("sniffio") is None:
        sys.modules["sniffio"] = None  # type: ignore[assignment]
