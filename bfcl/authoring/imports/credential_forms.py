"""What does a credential look like, by its name or by its form, and how is one told without showing it?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bfcl.canonical import Json
from bfcl.config.credentials import is_secret_key
from bfcl.errors import Problem
from bfcl.located import canonical_word

_NAMES: Final = frozenset(
    {
        "access_key",
        "client_secret",
        "credential",
        "credentials",
        "jwt",
        "pass_word",
        "passphrase",
        "passwd",
        "password_hash",
        "private_key",
        "pwd",
        "refresh_token",
        "secret_key",
        "session_token",
    }
)
_NAME_ENDINGS: Final = (
    "_access_key",
    "_pass_word",
    "_passphrase",
    "_passwd",
    "_private_key",
    "_pwd",
    "_secret_key",
    "_token",
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s\-.]+")

_VALUES: Final[Sequence[tuple[str, re.Pattern[str]]]] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("a PEM block", r"-----BEGIN [A-Z0-9 ]+-----"),
        ("a JSON Web Token", r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}"),
        ("an AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("an Azure account key", r"\b(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/=]{20,}"),
        ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})"),
        ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
        ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("a Google API key", r"\bAIza[A-Za-z0-9_-]{30,}"),
        ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{20,}"),
        ("an npm token", r"\bnpm_[A-Za-z0-9]{36}"),
        ("a SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        ("a secret API key", r"\b(?:sk-[A-Za-z0-9_-]{12,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,})"),
        ("a bearer token", r"\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{16,}"),
        ("an authorization header", r"(?i)\bauthorization['\"]?\s*[:=]\s*['\"]?(?:basic|token)\s+[a-z0-9._~+/=-]{6,}"),
        ("a password in a URL", r"://[^/\s:@]+:[^/\s:@]+@"),
    )
)


def is_secret_name(name: str) -> bool:
    """Whether a column or parameter by its name holds credentials, in snake case, camel case or with blanks."""
    plain = _CAMEL.sub("_", name.strip()).lower()
    return is_secret_key(plain) or plain in _NAMES or plain.endswith(_NAME_ENDINGS)


def secret_kind(text: str) -> str | None:
    """What kind of credential a text holds, or None."""
    return next((kind for kind, pattern in _VALUES if pattern.search(text)), None)


def kind_within(value: Json) -> str | None:
    """What kind of credential stands anywhere in a value, keys included; None where there is none."""
    if isinstance(value, str):
        return secret_kind(value)
    if isinstance(value, Mapping):
        parts: Iterable[Json] = (each for pair in value.items() for each in pair)
    else:
        parts = value if isinstance(value, list) else ()
    return next((kind for kind in map(kind_within, parts) if kind is not None), None)


def told(name: str, value: Json) -> str:
    """A value for a message, or only its length where it may be a credential."""
    text = value if isinstance(value, str) else canonical_word(value)
    if is_secret_name(name) or kind_within(value) or secret_kind(text):
        return f"<text, {len(text)}>"
    return repr(value) if isinstance(value, str) and len(value) <= 60 else canonical_word(value)


def told_name(name: str) -> str:
    """The name of a column or a key for a message, or only its length where it looks like a credential."""
    return f"<text, {len(name)}>" if secret_kind(name) else name


def masked(text: str) -> str:
    """A message with every credential in it replaced by its kind, up to where the word ends; a PEM block to the end."""
    for kind, pattern in _VALUES:
        rest = r"[\s\S]*" if kind == "a PEM block" else r"[^\s\"'`]*"
        text = re.sub(pattern.pattern + rest, f"<{kind}>", text)
    return text


def masked_problems(problems: Iterable[Problem]) -> list[Problem]:
    """The problems with masked messages: a reader of the file quotes what it could not take."""
    return [dataclasses.replace(each, message=masked(each.message)) for each in problems]
