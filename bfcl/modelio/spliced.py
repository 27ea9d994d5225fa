"""How is an object serialized whose large parts are serialized already? Each part once, whatever is hashed of it."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.canonical import canonical_text


def spliced(parts: Mapping[str, str]) -> bytes:
    """The canonical JSON of an object, given that of each of its values."""
    return ("{" + ",".join(f"{canonical_text(name)}:{parts[name]}" for name in sorted(parts)) + "}").encode()
