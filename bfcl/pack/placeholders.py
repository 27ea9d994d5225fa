"""What do `{name}` placeholders in a text stand for? Single-pass substitution. Rule: pack.md §5.2."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from bfcl.canonical import Json, canonical_text
from bfcl.errors import PackError, Problem

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_identifier(text: str) -> bool:
    """Whether `{text}` would be a placeholder: the form of slot keys and aliases."""
    return _IDENTIFIER.fullmatch(text) is not None


@functools.lru_cache(maxsize=65536)
def _parts(text: str) -> tuple[str, ...]:
    # Literal text at even positions, names at odd ones.
    return tuple(_PLACEHOLDER.split(text))


def names(text: str) -> tuple[str, ...]:
    """The distinct names in a text, in order of first appearance."""
    return tuple(dict.fromkeys(_parts(text)[1::2]))


def names_in(value: Json) -> tuple[str, ...]:
    """The distinct names in all strings of a value at any depth; keys of objects are not text to fill."""
    if isinstance(value, str):
        return names(value)
    if isinstance(value, Mapping):
        return tuple(dict.fromkeys(name for item in value.values() for name in names_in(item)))
    if isinstance(value, list | tuple):
        return tuple(dict.fromkeys(name for item in value for name in names_in(item)))
    return ()


def text_form(value: Json) -> str:
    """How a value reads inside text: strings as they are, anything else as canonical JSON."""
    return value if isinstance(value, str) else canonical_text(value)


def fill(text: str, values: Mapping[str, Json]) -> str:
    """`text` with each `{name}` replaced by its value's text form; inserted text is never scanned again.

    Raises: PackError `unbound_placeholder` naming every name without a value.
    """
    parts = _parts(text)
    if len(parts) == 1:
        return text
    try:
        filled = [text_form(values[part]) if index & 1 else part for index, part in enumerate(parts)]
    except KeyError:
        raise _unbound(text, values) from None
    return "".join(filled)


def fill_json(value: Json, values: Mapping[str, Json]) -> Json:
    """`value` with placeholders filled in strings at any depth; a string that is exactly `{name}` becomes the value.

    Raises: PackError `unbound_placeholder`.
    """
    if isinstance(value, str):
        parts = _parts(value)
        if len(parts) == 3 and not parts[0] and not parts[2] and parts[1] in values:
            return values[parts[1]]
        return fill(value, values)
    if isinstance(value, Mapping):
        return {key: fill_json(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill_json(item, values) for item in value]
    return value


def _unbound(text: str, values: Mapping[str, Json]) -> PackError:
    shown = text if len(text) <= 80 else text[:77] + "..."
    known = ", ".join(sorted(values)) or "nothing"
    return PackError(
        Problem(
            code="unbound_placeholder",
            message=f"`{{{name}}}` in {shown!r} is bound by nothing; bound here: {known}",
            fix=f"declare a slot `{name}` or correct the name",
        )
        for name in names(text)
        if name not in values
    )
