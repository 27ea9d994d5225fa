"""Did a reply say anything in words? Rule: evaluation.md §6, step 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bfcl.canonical import Json

_TEXT_KEYS: Final = ("content", "output_text", "parts", "text", "value")
"""Where providers that send structured content put what the model says; what it thinks stands elsewhere."""


def in_words(content: Json) -> bool:
    """Whether a text that is more than blanks stands in the content of a reply."""
    return bool(spoken(content).strip())


def spoken(content: Json) -> str:
    """Every text of a content, one after the other: of a string, of list items, of mappings under their text keys."""
    found: list[str] = []
    # A stack and no recursion: a provider may nest as deep as it likes.
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, Mapping):
            waiting += [value[key] for key in reversed(_TEXT_KEYS) if key in value]
        elif isinstance(value, list | tuple):
            waiting += reversed(value)
    return "".join(found)
