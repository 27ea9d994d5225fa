"""How is an object serialized whose large parts are serialized already? Each part once, whatever is hashed of it."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.canonical import canonical_json


def spliced(parts: Mapping[str, bytes]) -> bytes:
    """The canonical JSON of an object, given that of each of its values."""
    return b"{" + b",".join(b"%b:%b" % (canonical_json(name), parts[name]) for name in sorted(parts)) + b"}"
