"""Does a JSON text hold exactly the value it decodes to? Rule: generation.md §7.

Text that re-encodes byte for byte keeps `1`, `1.0`, `true` and `"1"` apart, has no repeated key and no free spelling.
"""

from __future__ import annotations

import json

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import sha256_bytes


class Inexact(Exception):
    """A text that is not the canonical JSON of its value."""


def exact_json(text: str | None) -> Json:
    """The value of a canonical JSON text. Raises: Inexact."""
    if text is None:
        raise Inexact("is null, expected JSON text")
    try:
        value: Json = json.loads(text)
        again = canonical_text(value)
    except (ValueError, RecursionError):
        raise Inexact(f"is no JSON: {_start(text)}") from None
    if again != text:
        at = next((index for index, (a, b) in enumerate(zip(text, again, strict=False)) if a != b), len(again))
        raise Inexact(f"is not canonical JSON: {_start(text[at:])} at character {at}")
    return value


def exact_digest(value: Json) -> bytes:
    """32 bytes that two values share exactly where they are equal by type and value, mappings in any order."""
    return sha256_bytes(canonical_json(value))


def _start(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
