"""The one JSON serialization that is ever hashed, and the readable one that people open. Rule: generation.md §2.4."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
"""A JSON value. Containers are read-only by convention: lists, tuples and dicts all serialize."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_PRETTY = json.JSONEncoder(sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)


def canonical_text(value: Json) -> str:
    """Sorted keys, separators `,` and `:`, non-ASCII unescaped. Raises ValueError on NaN and infinity."""
    return _ENCODER.encode(value)


def canonical_json(value: Json) -> bytes:
    """UTF-8 bytes of `canonical_text`. A lone surrogate raises UnicodeEncodeError."""
    return _ENCODER.encode(value).encode()


def readable_json(value: Json) -> bytes:
    """Two-space indent, sorted keys, non-ASCII unescaped, final newline: the form of every JSON artifact."""
    return (_PRETTY.encode(value) + "\n").encode()
