"""The one JSON serialization that is ever hashed, and the readable one that people open. Rule: generation.md §2.4.

A build writes and reads some fifty of these texts a task, most of them short: what `json` does anew for each call, such
as making its encoder, takes longer than the text itself, and is done once here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
"""A JSON value. Containers are read-only by convention: lists, tuples and dicts all serialize."""

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)
"""Without noting what it is inside of: one note for all calls would mix those of threads."""


def _chunks_of() -> Callable[[Json, int], Sequence[str]] | None:
    """What `_ENCODER` makes anew for each text; None where Python has no such thing."""
    encoder: Any = json.encoder
    if encoder.c_make_encoder is None:
        return None
    separators = _ENCODER.key_separator, _ENCODER.item_separator
    switches = _ENCODER.sort_keys, _ENCODER.skipkeys, _ENCODER.allow_nan
    made: Callable[[Json, int], Sequence[str]] = encoder.c_make_encoder(
        None, _ENCODER.default, encoder.encode_basestring, None, *separators, *switches
    )
    return made


_CHUNKS = _chunks_of()
_quoted: Callable[[str], str] = json.encoder.encode_basestring
_raw_decode = json.JSONDecoder().raw_decode


def canonical_text(value: Json) -> str:
    """Sorted keys, separators `,` and `:`, non-ASCII unescaped.

    Raises ValueError on NaN and infinity, RecursionError on what holds itself.
    """
    return _ENCODER.encode(value) if _CHUNKS is None else "".join(_CHUNKS(value, 0))


def canonical_json(value: Json) -> bytes:
    """UTF-8 bytes of `canonical_text`. A lone surrogate raises UnicodeEncodeError."""
    return canonical_text(value).encode()


def from_canonical(text: str) -> Any:
    """The value of a text that `canonical_text` made, or of a line of such. That it is canonical is not checked.

    Raises ValueError where it is no JSON value, or anything but one line feed stands around it.
    """
    value, end = _raw_decode(text)
    if end != len(text) and text[end:] != "\n":
        raise json.JSONDecodeError("more than one value", text, end)
    return value


def readable_json(value: Json) -> bytes:
    """Two-space indent, sorted keys, non-ASCII unescaped, final newline: the form of every JSON artifact.

    Raises as `canonical_text`, and TypeError on a name that is no text.
    """
    return (_laid_out(value, "\n") + "\n").encode()


def _laid_out(value: Json, line: str) -> str:
    """The text of a value whose last line begins like `line`: as `json` lays it out, which takes thrice the time."""
    if isinstance(value, str):
        return _quoted(value)
    if not value or not isinstance(value, dict | list | tuple):
        return canonical_text(value)
    inner, parts = line + "  ", []
    if isinstance(value, dict):
        for name, item in sorted(value.items()):
            parts.append(f"{_quoted(name)}: {_laid_out(item, inner)}")
        return f"{{{inner}{f',{inner}'.join(parts)}{line}}}"
    for item in value:
        parts.append(_laid_out(item, inner))
    return f"[{inner}{f',{inner}'.join(parts)}{line}]"
