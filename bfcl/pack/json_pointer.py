"""How is a place inside a JSON value written, and read again? Rule: RFC 6901."""

from __future__ import annotations

from collections.abc import Iterable


def pointer_text(parts: Iterable[str | int]) -> str:
    """The pointer of keys and indices; the root is the empty text."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def pointer_parts(pointer: str) -> list[str]:
    """The keys of a pointer; an index is its digits. What stands before the first `/` is passed over."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
