"""What do the conversations of a starter pack say in a language? Rule: authoring.md §3, §16 item 10."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SHIPPED: Final = ("de", "en", "es", "fr", "ja", "vi", "zh")
"""Languages with texts of their own, by their primary subtag."""

_TEXTS: Final = Path(__file__).parent / "texts"
_SCRIPTS: Final = {"ja": "jpan", "zh": "hans"}
"""The script of the shipped texts where it is not Latin."""
_OTHER_SCRIPT: Final = {"zh": frozenset({"tw", "hk", "mo"})}
"""Regions that write the language in a script other than that of the shipped texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The texts of a starter pack; `fitting` is false where they are English and another language was asked for."""

    system_prompt: tuple[str, ...]
    """Its lines."""
    texts: Mapping[str, str]
    """Placeholder of the pack's templates to text."""
    fitting: bool


def words_for(tag: str) -> Words:
    """The texts for a language tag: its own, also for a regional variant (`de-AT`), else the English ones."""
    language = shipped_language(tag)
    stored = json.loads((_TEXTS / f"{language or 'en'}.json").read_text(encoding="utf-8"))
    lines = tuple(stored.pop("system_prompt"))
    return Words(system_prompt=lines, texts=stored, fitting=language is not None)


def shipped_language(tag: str) -> str | None:
    """The shipped language that readers of `tag` read, or None; another script is another text: `zh-Hant`, `zh-TW`."""
    language, *subtags = tag.casefold().split("-")
    if language not in SHIPPED:
        return None
    script = _SCRIPTS.get(language, "latn")
    foreign = any(len(part) == 4 and part.isalpha() and part != script for part in subtags)
    return None if foreign or _OTHER_SCRIPT.get(language, frozenset()) & set(subtags) else language
