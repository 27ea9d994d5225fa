"""Does `endpoint_config.yaml` have the shape that an endpoint needs? No service is asked. Rule: pack.md §6.

Every fault is `endpoint_contract_invalid`, all of them at once, with the dotted field and its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from bfcl.canonical import Json
from bfcl.config.credentials import shape_of
from bfcl.digest import Digest, sha256_json
from bfcl.errors import Problem
from bfcl.located import Document
from bfcl.pack.conform import conforms
from bfcl.pack.endpoint_auth import Reference, credential_places, read_auth
from bfcl.pack.model import Endpoint
from bfcl.pack.shape import Pointer, Shape, dotted

CODE: Final = "endpoint_contract_invalid"

_DIGEST: Final = re.compile(r"sha256:[0-9a-fA-F]{64}")
_CONTEXT: Final = "authorization_context_digest"
_AUTHORIZED: Final = ("principal_digest", "permission_digest")
_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"


def load_endpoint(document: Document) -> tuple[Endpoint | None, list[Problem]]:
    """The endpoint, or None with every problem of its file."""
    secrets = list(credential_places(document.value))
    told = Shape(document, CODE)
    for pointer, text in secrets:
        message = f"`{dotted(pointer)}` is {shape_of(text)} that looks like a credential; a pack never holds one"
        fix = "revoke it, keep its successor in an environment variable, and name that in `auth.bearer_token_env`"
        told.refuse(pointer, message, fix)
    shape = Shape(document, CODE)
    _read(document.value, shape)
    # What looks like a credential is told once, and by nobody who would show it. That its key is unknown shows nothing.
    hidden = {dotted(pointer) for pointer, _ in secrets}
    shown = shape.unknown_keys
    problems = told.problems + [one for one in shape.problems if one.field not in hidden or one.field in shown]
    if problems:
        return None, sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))
    return _endpoint(document.value), []


def pinned_problem(endpoint: Endpoint, shape: Shape) -> Problem | None:
    """The refusal of a pinned attestation: nothing here could compare it with the service."""
    if endpoint.attestation_digest is None:
        return None
    message = "`attestation` pins a service; this release runs Python oracles only and cannot compare it"
    fix = "remove `attestation` to check the rest of the pack, or write a `backend.py`"
    return shape.problem(("attestation",), message, fix, code="unsupported_config_feature")


def certificate_problem(data: bytes, shape: Shape) -> Problem | None:
    """What is wrong with a CA bundle's bytes, placed at its path."""
    if _CERTIFICATE in data:
        return None
    message = "`tls.ca_bundle_path` names a file that holds no PEM certificate"
    fix = "name a file with `-----BEGIN CERTIFICATE-----`"
    return shape.problem(("tls", "ca_bundle_path"), message, fix, code=CODE)


def _endpoint(value: Any) -> Endpoint:
    """The endpoint behind a file without a fault."""
    attestation = value.get("attestation")
    return Endpoint(
        base_url=value["base_url"].rstrip("/"),
        attestation_digest=attestation["expected_digest"].lower() if attestation else None,
        ca_bundle_path=(value.get("tls") or {}).get("ca_bundle_path"),
    )


def _read(value: Json, shape: Shape) -> None:
    if not isinstance(value, Mapping):
        conforms("endpoint_config", value, shape)
        return
    # The address may carry a password and `auth` anything: their readers show neither.
    conforms("endpoint_config", {key: item for key, item in value.items() if key != "auth"}, shape)
    _base_url(value.get("base_url"), shape)
    references = read_auth(value.get("auth"), shape)
    expected = value.get("expected")
    if isinstance(expected, Mapping):
        for key in ("content_digest", *_AUTHORIZED, _CONTEXT):
            _digest(expected.get(key), ("expected", key), shape)
        if not shape.problems:
            _authorization(expected, references, shape)
    attestation = value.get("attestation")
    if isinstance(attestation, Mapping):
        _digest(attestation.get("expected_digest"), ("attestation", "expected_digest"), shape)


def _base_url(value: Json, shape: Shape) -> None:
    if not isinstance(value, str) or not value.strip():
        return
    fault = _url_fault(value)
    if fault is None:
        return
    hidden = "@" in value or "?" in value
    shown = shape_of(value) if hidden else f'"{value}"'
    message = f"`base_url` is {shown}, which {fault}; expected an HTTPS address without user, query or fragment"
    shape.refuse(("base_url",), message, "write it like `https://oracle.example.org/desk`")


def _url_fault(value: str) -> str | None:
    if not value.isprintable() or " " in value:
        return "holds white space or control characters"
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no address"
    if parts.scheme != "https":
        return f"has the scheme `{parts.scheme}`" if parts.scheme else "has no scheme"
    if "@" in parts.netloc:
        return "names a user"
    if not host:
        return "names no host"
    if "?" in value:
        return "has a query"
    return "has a fragment" if "#" in value else None


def _digest(value: Json, pointer: Pointer, shape: Shape) -> None:
    if isinstance(value, str) and value.strip() and not _DIGEST.fullmatch(value):
        shape.misfit(value, pointer, "`sha256:` and 64 hexadecimal digits")


def _authorization(expected: Mapping[str, Json], references: Sequence[Reference], shape: Shape) -> None:
    """The context digest binds what is referred to; with credentials it needs the two digests that it is made of."""
    pinned = expected.get(_CONTEXT)
    if not isinstance(pinned, str):
        return
    pointer: Pointer = ("expected", _CONTEXT)
    missing = [key for key in _AUTHORIZED if expected.get(key) is None]
    if missing and references:
        message = f"`{dotted(pointer)}` is given with credentials but without {' and '.join(missing)}"
        shape.refuse(pointer, message, f"add {' and '.join(f'`expected.{key}`' for key in missing)}")
        return
    digest = context_digest(references, *(_lower(expected.get(key)) for key in _AUTHORIZED))
    if pinned.lower() != digest:
        message = f"`{dotted(pointer)}` is {pinned}, but `auth` and the other digests make {digest}"
        shape.refuse(pointer, message, "pin the digest of what is configured, or configure what was pinned")


def context_digest(references: Sequence[Reference], principal: str | None, permission: str | None) -> Digest:
    """The authorization context digest. Rule: remote_oracles.md §2 item 5."""
    ordered = sorted(
        references, key=lambda one: (one["resolver"], one["provider"] or "", one["name"], one["version"] or "")
    )
    return sha256_json(
        {
            "schema_version": "bfcl-authorization-context-v1",
            "credential_references_digest": sha256_json(list(ordered)),
            "principal_digest": principal,
            "permission_digest": permission,
        }
    )


def _lower(value: Json) -> str | None:
    return value.lower() if isinstance(value, str) else None
