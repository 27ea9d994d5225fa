"""Does a table of records carry credentials? Told by row and column; a value is never shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from bfcl.authoring.imports.record_rows import Record
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
_NAME_ENDINGS: Final = ("_access_key", "_passphrase", "_passwd", "_private_key", "_pwd", "_secret_key", "_token")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s\-.]+")

_VALUES: Final[Sequence[tuple[str, re.Pattern[str]]]] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("a PEM block", r"-----BEGIN [A-Z0-9 ]+-----"),
        ("a JSON Web Token", r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}"),
        ("an AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})"),
        ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
        ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("a Google API key", r"\bAIza[A-Za-z0-9_-]{30,}"),
        ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{20,}"),
        ("a secret API key", r"\b(?:sk-[A-Za-z0-9_-]{12,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,})"),
        ("a bearer token", r"\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{16,}"),
        ("a password in a URL", r"://[^/\s:@]+:[^/\s:@]+@"),
    )
)


class _Hit(NamedTuple):
    column: str
    """The column, with the keys inside it where the value is nested."""
    kind: str


def is_secret_column(name: str) -> bool:
    """Whether a column by its name holds credentials, in snake case, camel case or with blanks."""
    plain = _CAMEL.sub("_", name.strip()).lower()
    return is_secret_key(plain) or plain in _NAMES or plain.endswith(_NAME_ENDINGS)


def secret_kind(text: str) -> str | None:
    """What kind of credential a text holds, or None."""
    return next((kind for kind, pattern in _VALUES if pattern.search(text)), None)


def secret_problems(rows: Sequence[Record], allowed: Collection[str], *, path: str) -> list[Problem]:
    """`secret_in_records`, one for each column and kind: the first row at fault, and how many follow."""
    first: dict[_Hit, int] = {}
    count: dict[_Hit, int] = {}
    for row in rows:
        for name, value in row.values.items():
            for hit in dict.fromkeys(() if name in allowed else _hits(name, value, named=is_secret_column(name))):
                first.setdefault(hit, row.line)
                count[hit] = count.get(hit, 0) + 1
    problems = []
    for hit, line in first.items():
        more = count[hit] - 1
        also = f", and so do {more} more rows" if more > 1 else ", and so does 1 more row" if more else ""
        top = hit.column.split(".")[0]
        problems.append(
            Problem(
                code="secret_in_records",
                path=path,
                line=line,
                field=hit.column,
                message=f"column `{hit.column}` holds {hit.kind}{also}",
                fix=f"replace it by an invented value; where it is invented already, pass --allow-secrets {top}",
            )
        )
    return problems


def _hits(column: str, value: Json, *, named: bool) -> Iterator[_Hit]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _hits(f"{column}.{key}", child, named=named or is_secret_column(key))
    elif isinstance(value, list):
        for child in value:
            yield from _hits(column, child, named=named)
    elif isinstance(value, str) and value and secret_kind(value):
        yield _Hit(column, secret_kind(value) or "")
    elif named and value not in (None, "") and not isinstance(value, bool):
        yield _Hit(column, "a value, and its name says credential")


def told(column: str, value: Json) -> str:
    """A value for a message, or only its length where it may be a credential."""
    text = value if isinstance(value, str) else canonical_word(value)
    if is_secret_column(column) or secret_kind(text):
        return f"<text, {len(text)}>"
    return repr(value) if isinstance(value, str) and len(value) <= 60 else canonical_word(value)
