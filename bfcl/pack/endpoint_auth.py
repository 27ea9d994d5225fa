"""Which credentials does an endpoint need, by name, and does its file hold one by mistake?

Nothing that stands below `auth` is ever shown: who puts a secret there must not find it in a log as well.
Rule: remote_oracles.md §1, §2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from bfcl.canonical import Json
from bfcl.config.credentials import shape_of
from bfcl.errors import did_you_mean
from bfcl.pack.schema_check import fields
from bfcl.pack.shape import Pointer, Shape, dotted

Reference = Mapping[str, str | None]
"""All five keys of a credential reference; null where it has none."""

ENVIRONMENT: Final = re.compile(r"[A-Z][A-Z0-9_]{0,127}")
_PROVIDER: Final = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_SECRET_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./:@-]{0,255}")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110."""
_OURS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
    }
)
"""Headers the client sets itself."""
_CREDENTIAL: Final = re.compile(r"bearer\s+\S|sk-[A-Za-z0-9_-]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----", re.IGNORECASE)
_LONG_SECRET: Final = re.compile(r"[A-Za-z0-9+/=_-]{32,}")
_SCHEMA_VERSION: Final = "bfcl-credential-reference-v1"
_AUTH: Final[Pointer] = ("properties", "auth", "allOf", 0)
_REFERENCE: Final[Pointer] = ("$defs", "reference")
_NAME_FIX: Final = "keep the value in an environment variable and write that variable's name here"


def credential_places(value: Json, pointer: Pointer = ()) -> Iterator[tuple[Pointer, str]]:
    """(pointer, text) of every text that looks like a credential itself, in file order."""
    match value:
        case str():
            if _CREDENTIAL.match(value.strip()) or (pointer[:1] == ("auth",) and _is_long_secret(value)):
                yield pointer, value
        case Mapping():
            for key, child in value.items():
                yield from credential_places(child, (*pointer, key))
        case list() | tuple():
            for index, child in enumerate(value):
                yield from credential_places(child, (*pointer, index))


def _is_long_secret(text: str) -> bool:
    # Where a secret manager is asked, names are paths and may be long.
    return bool(_LONG_SECRET.fullmatch(text)) and not ENVIRONMENT.fullmatch(text) and "/" not in text


def read_auth(value: Json, shape: Shape) -> tuple[Reference, ...]:
    """The credentials that `auth` refers to; problems are noted in `shape`."""
    auth = _mapping(value, ("auth",), shape)
    shape.closed(auth, ("auth",), fields("endpoint_config", _AUTH))
    found = []
    name, reference = auth.get("bearer_token_env"), auth.get("bearer_token_ref")
    if name is not None:
        found.append(_environment(name, ("auth", "bearer_token_env"), shape))
    if reference is not None:
        found.append(_reference(reference, ("auth", "bearer_token_ref"), shape))
    if name is not None and reference is not None:
        message = "`auth` has both `bearer_token_env` and `bearer_token_ref`; expected one"
        shape.refuse(("auth", "bearer_token_ref"), message, "remove one of the two")
    found += _headers(_mapping(auth.get("headers"), ("auth", "headers"), shape), shape)
    return tuple(one for one in found if one is not None)


def _headers(headers: Mapping[str, Json], shape: Shape) -> Iterator[Reference | None]:
    seen: dict[str, str] = {}
    for header, value in headers.items():
        pointer: Pointer = ("auth", "headers", header)
        folded = header.casefold()
        if not _HEADER.fullmatch(header):
            shape.refuse(pointer, f"`{header}` is no name of an HTTP header", "use letters, digits and `-`")
        elif folded in _OURS:
            shape.refuse(pointer, f"the header `{header}` is set by the client", "remove it")
        elif folded in seen:
            shape.refuse(pointer, f"the header `{header}` is there already as `{seen[folded]}`", "keep one of the two")
        seen.setdefault(folded, header)
        yield _reference(value, pointer, shape)


def _reference(value: Json, pointer: Pointer, shape: Shape) -> Reference | None:
    """A credential reference: the name of an environment variable, or the closed mapping."""
    if not isinstance(value, Mapping):
        return _environment(value, pointer, shape)
    before = len(shape.problems)
    shape.closed(value, pointer, fields("endpoint_config", _REFERENCE))
    if value.get("schema_version") not in (None, _SCHEMA_VERSION):
        _refuse(value["schema_version"], (*pointer, "schema_version"), f'"{_SCHEMA_VERSION}"', shape)
    resolver = value.get("resolver")
    if resolver not in ("environment", "secret_manager"):
        fix = did_you_mean(resolver, ("environment", "secret_manager")) if isinstance(resolver, str) else None
        _refuse(resolver, (*pointer, "resolver"), "environment or secret_manager", shape, fix)
    elif resolver == "environment":
        _environment(value.get("name"), (*pointer, "name"), shape)
        for key in ("provider", "version"):
            if value.get(key) is not None:
                shape.refuse(
                    (*pointer, key), f"`{dotted((*pointer, key))}` means nothing to `environment`", "remove it"
                )
    else:
        _match(value.get("provider"), (*pointer, "provider"), _PROVIDER, "the name of a provider", shape)
        _match(value.get("name"), (*pointer, "name"), _SECRET_NAME, "the name of a secret", shape)
        if value.get("version") is not None:
            _match(value["version"], (*pointer, "version"), _SECRET_NAME, "the version of a secret", shape)
    if len(shape.problems) > before:
        return None
    keys = ("resolver", "name", "provider", "version")
    return {"schema_version": _SCHEMA_VERSION, **{key: _text(value.get(key)) for key in keys}}


def _environment(value: Json, pointer: Pointer, shape: Shape) -> Reference | None:
    expected = "the name of an environment variable: capitals, digits and `_`"
    if not _match(value, pointer, ENVIRONMENT, expected, shape):
        return None
    name = _text(value)
    return {
        "schema_version": _SCHEMA_VERSION,
        "resolver": "environment",
        "name": name,
        "provider": None,
        "version": None,
    }


def _match(value: Json, pointer: Pointer, pattern: re.Pattern[str], expected: str, shape: Shape) -> bool:
    if isinstance(value, str) and pattern.fullmatch(value):
        return True
    _refuse(value, pointer, expected, shape, _NAME_FIX if pattern is ENVIRONMENT else None)
    return False


def _refuse(value: Json, pointer: Pointer, expected: str, shape: Shape, fix: str | None = None) -> None:
    """Note a misfit by the value's kind and size alone."""
    shape.refuse(pointer, f"`{dotted(pointer)}` is {shape_of(value)}; expected {expected}", fix)


def _mapping(value: Json, pointer: Pointer, shape: Shape) -> Mapping[str, Json]:
    if value is None or isinstance(value, Mapping):
        return value or {}
    _refuse(value, pointer, "a mapping", shape)
    return {}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
