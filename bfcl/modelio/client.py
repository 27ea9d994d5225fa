"""Who is asked for what is not recorded yet: a provider over the network, or nobody. Rule: translation.md §13."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NoReturn, Protocol

from bfcl.canonical import Json, canonical_json
from bfcl.digest import Digest
from bfcl.errors import ConfigError, ModelError, Problem
from bfcl.modelio.attempts import Asked, Clock, Patience, attempted, told
from bfcl.modelio.credential import Credential
from bfcl.modelio.providers import Route
from bfcl.modelio.transport import Post, Reply, Transport, harmless

HEADERS: Final[Mapping[str, str]] = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": "bfcl",
}
"""Of every request, beside the credential."""


class Client(Protocol):
    """Something that a role sends its requests to."""

    def post(self, path: str, fields: Mapping[str, Json], request_hash: Digest, /) -> Json:
        """What the model answers to these fields at this path below the API root; `request_hash` draws the waits.

        Raises: ModelError, ConfigError.
        """


class LiveClient:
    """Asks the provider."""

    def __init__(
        self,
        route: Route,
        credential: Credential | None,
        transport: Transport,
        *,
        patience: Patience | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._route = route
        self._credential = credential
        self._transport = transport
        self._patience = patience or Patience()
        self._clock = clock or Clock()
        self.subject = f"{route.provider.name}/{route.model}"

    def post(self, path: str, fields: Mapping[str, Json], request_hash: Digest, /) -> Json:
        """See `Client.post`.

        Raises: ModelError `model_credential_missing`, `malformed_response`, and as `attempted` does.
        """
        body = canonical_json({**fields, "model": self._route.model})
        secret = None if self._credential is None else self._credential.reveal()
        headers = dict(HEADERS) if secret is None else {**HEADERS, "authorization": f"Bearer {secret}"}
        request = Post(f"{self._route.provider.endpoint}/{path}", headers, body)

        def send(timeout_s: float) -> Reply:
            reply = self._transport.post(request, timeout_s)
            return reply._replace(headers=harmless(reply.headers, secret))

        asked = Asked(subject=self.subject, request_hash=request_hash)
        reply = attempted(send, asked, self._patience, self._clock)
        try:
            return _parsed(reply.body)
        except (ValueError, RecursionError):
            # Not chained: the parser's text may quote the answer.
            pass
        raise ModelError(malformed(self.subject, f"{told(reply)} is no JSON in UTF-8 of at most 16 MiB"))


class ReplayClient:
    """Asks nobody: all that was recorded is there, and for the rest it tells why nobody can be asked."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def post(self, _path: str, _fields: Mapping[str, Json], _request_hash: Digest, /) -> NoReturn:
        """Raises: ConfigError with the reason."""
        raise ConfigError(self._problem)


def malformed(subject: str, message: str) -> Problem:
    """A 200 whose content breaks the role's rules."""
    return Problem(
        code="malformed_response",
        message=f"answered what cannot be used: {message}",
        subject=subject,
        fix="nothing of it was kept; check that the model serves this kind of request, then run again",
    )


def _parsed(body: bytes | None) -> Json:
    if body is None:
        raise ValueError
    value: Json = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    return value


def _no_number(_: str) -> NoReturn:
    raise ValueError
