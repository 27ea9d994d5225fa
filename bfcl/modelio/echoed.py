"""Does a reply hand the credential back? Rule: evaluation.md §5, translation.md §13.3."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

PLACEHOLDERS: Final = frozenset(
    {
        "api-key",
        "dummy",
        "empty",
        "lm-studio",
        "local",
        "no-key",
        "no-key-required",
        "none",
        "not-needed",
        "null",
        "ollama",
        "placeholder",
        "sk-no-key-required",
        "test",
        "unused",
    }
)
"""What people write, in whatever case, where a server wants a key and takes any: no secret, and replies say such words
on their own account."""
LEAST: Final = 4
"""Characters below which a key is none: every reply holds them by chance."""
_ANYWHERE: Final = 8
"""Characters from which on a key is looked for within words too."""

_TIMES: Final = 4
"""How often escapes are undone: once for the reply, once for a call's arguments, and for what lies in those. Bounded,
since each time may uncover as much again."""
_PAIR: Final = "\0"
"""Stands for an escaped backslash meanwhile; no key has it."""
_NUMBER: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_URL_SAFE: Final = str.maketrans("+/", "-_")
_LETTERS: Final = {'"': '"', "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def holds(text: str, secret: str) -> bool:
    """Whether the text holds the credential as it is or as JSON may spell it, however deep in texts of JSON.

    The text need be no JSON. A key of 8 characters and more is found in base64 and with `%` escapes, too; a shorter one
    counts where it is a word of its own; one of fewer than `LEAST`, and a placeholder, never.
    """
    if len(secret) < LEAST or secret.lower() in PLACEHOLDERS:
        return False
    if len(secret) >= _ANYWHERE:
        spelled = (secret, *_in_base64(secret))
        return any(one in told for told in _readings(text) for one in spelled) or any(
            "%" in told and secret in unquote(told) for told in _readings(text)
        )
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(secret)}(?![A-Za-z0-9])")
    return any(word.search(told) for told in _readings(text))


def _in_base64(secret: str) -> Iterator[str]:
    """What of the base64 of a text with the secret in it depends on the secret alone, wherever that begins."""
    data = secret.encode()
    for before in range(3):
        coded = b64encode(b"\0" * before + data).decode()
        sure = coded[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
        yield sure
        yield sure.translate(_URL_SAFE)


def _readings(text: str) -> Iterator[str]:
    """The text, and what it says with escapes undone once, twice and on.

    Strings of a JSON text are decoded where they stand: outside of them JSON has no backslash.
    """
    yield text
    for _ in range(_TIMES):
        if "\\" not in text:
            return
        text = _undone(text)
        yield text


def _undone(text: str) -> str:
    """Not one pass over all escapes: millions of them would take ten times as long."""
    text = text.replace("\\\\", _PAIR)
    for letter, meant in _LETTERS.items():
        text = text.replace(f"\\{letter}", meant)
    # Last but for the pairs: what it uncovers is no escape of this reading.
    return _NUMBER.sub(lambda escape: chr(int(escape[1], 16)), text).replace(_PAIR, "\\")
