"""Which commit does a name in a model registry mean now? Rule: evaluation.md §12.

Asked of the HTTP interface of the Hugging Face hub, without a credential and without following anybody elsewhere.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import quote

from bfcl.errors import EvalError, Problem
from bfcl.modelio.transport import no_cookies, quiet, reason

HUB: Final = "https://huggingface.co"
UNRESOLVED: Final = "model_identity_unresolved"

_TIMEOUT_S: Final = 30.0
_MAX_BYTES: Final = 16 * 1024 * 1024
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_CHECK: Final = "check name and revision on the hub, or digest downloaded weights with the `local` form"


class _Answer(NamedTuple):
    status: int
    body: bytes


def commit_of(model: str, revision: str, *, hub: str = HUB) -> str:
    """The commit, 40 to 64 hex digits. Raises: EvalError `model_identity_unresolved`."""
    url = f"{hub.rstrip('/')}/api/models/{quote(model, safe='/')}/revision/{quote(revision, safe='')}"
    answer = _get(url, model)
    if answer.status in (401, 403, 404):
        raise _unresolved(model, f"the hub knows no public model with the revision `{revision}`", _CHECK)
    if 300 <= answer.status < 400:
        message = f"the hub answers {answer.status}: the model bears another name now; expected its own"
        raise _unresolved(model, message, "give the name under which the hub shows the model")
    if answer.status != 200:
        raise _unresolved(model, f"the hub answers {answer.status}; expected 200", "try again later")
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        said = None
    commit = said.get("sha") if isinstance(said, dict) else None
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise _unresolved(model, "the hub's answer names no commit under `sha`", "check the address given by --hub")
    return commit


def _get(url: str, model: str) -> _Answer:
    # Costs a tenth of a second, and only this command asks a registry.
    import httpx

    quiet()
    ends = time.monotonic() + _TIMEOUT_S
    try:
        with (
            # An `auth` that adds nothing keeps the library from looking into `.netrc`.
            httpx.Client(follow_redirects=False, cookies=no_cookies(), timeout=_TIMEOUT_S, auth=httpx.Auth()) as client,
            client.stream("GET", url, headers={"Accept": "application/json"}) as answer,
        ):
            return _Answer(answer.status_code, _bounded(answer.iter_bytes(), ends, model))
    except (httpx.TransportError, httpx.DecodingError, httpx.InvalidURL, OSError, ValueError) as error:
        # Not chained: the library's text may quote a proxy's address with its password.
        unusable = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | ValueError)
        detail = "the address cannot be used" if unusable else reason(error)
    raise _unresolved(model, f"the hub cannot be reached: {detail}", "check the network and the address given by --hub")


def _bounded(pieces: Iterator[bytes], ends: float, model: str) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > _MAX_BYTES or time.monotonic() > ends:
            raise _unresolved(model, "the hub's answer is too long or too slow", "try again later")
    return bytes(body)


def _unresolved(model: str, message: str, fix: str) -> EvalError:
    return EvalError(Problem(code=UNRESOLVED, subject=model, message=message, fix=fix))
