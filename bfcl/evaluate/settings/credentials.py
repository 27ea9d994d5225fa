"""Does a file of an evaluation carry a credential, and how is a value told without showing it? Rule: evaluation.md §2.

Strings of a refused file never leave it: a message shows their length, and of a credential not even that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.config.credentials import is_secret_key
from bfcl.config.view import Pointer
from bfcl.located import canonical_word

REDACTED: Final = "<redacted>"
PLACEHOLDER: Final = "REPLACE_ME_"

_MORE_NAMES: Final = frozenset({"credentials", "private_key"})
_BODY: Final = 16
"""A prefix alone is no credential: `hf_model` and `sk-tiny` are names."""
_TOKEN: Final = re.compile(
    rf"(?:nvapi-|sk-|sk_live_|hf_|ghp_|gho_|github_pat_|xoxb-|xoxp-|aiza)[a-z0-9_-]{{{_BODY},}}", re.IGNORECASE
)
_BEARER: Final = re.compile(rf"bearer\s+[a-z0-9_.=+/~-]{{{_BODY},}}", re.IGNORECASE)


class Secret(NamedTuple):
    """Where a credential stands, and what shows that it is one."""

    pointer: Pointer
    why: str


def names_secret(key: str) -> bool:
    """Whether a key by its name holds a credential. `api_key_env` names a variable and does not."""
    plain = key.lower().replace("-", "_")
    return is_secret_key(key) or plain in _MORE_NAMES or plain.endswith("_token")


def looks_secret(text: str) -> bool:
    """Whether a text starts like a provider's token, with enough behind the prefix to be one."""
    trimmed = text.strip()
    return bool(_TOKEN.match(trimmed) or _BEARER.match(trimmed))


def secrets_in(value: Json, pointer: Pointer = ()) -> Iterator[Secret]:
    """Every credential at any depth, in file order."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            if looks_secret(key):
                yield Secret((*pointer, key), "stands under a key that starts like a provider's token")
            elif names_secret(key):
                yield Secret((*pointer, key), "holds a credential by its name")
            else:
                yield from secrets_in(child, (*pointer, key))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            yield from secrets_in(child, (*pointer, index))
    elif isinstance(value, str) and looks_secret(value):
        yield Secret(pointer, "starts like a provider's token")


def placeholders_in(value: Json, pointer: Pointer = ()) -> Iterator[Pointer]:
    """Every place where a template still waits for a value, keys included, in file order."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            if PLACEHOLDER in key:
                yield (*pointer, key)
            else:
                yield from placeholders_in(child, (*pointer, key))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            yield from placeholders_in(child, (*pointer, index))
    elif isinstance(value, str) and PLACEHOLDER in value:
        yield pointer


def redacted(value: Json) -> str:
    """A value as messages show it: text by its length, containers by their size, the rest as written."""
    if isinstance(value, str):
        return f"<str len={len(value)}>"
    if isinstance(value, Mapping):
        return f"<mapping len={len(value)}>"
    if isinstance(value, list | tuple):
        return f"<list len={len(value)}>"
    return canonical_word(value)


def scrubbed(text: str) -> str:
    """A parser's words without the file's: it may quote what it could not read."""
    text = re.sub(r"does not fit .*", "does not fit its value", text, flags=re.DOTALL)
    return _BEARER.sub(REDACTED, _TOKEN.sub(REDACTED, text))
