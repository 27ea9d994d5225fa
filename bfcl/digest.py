"""Every digest the project computes: SHA-256 for published identities, BLAKE3 for the build store.

Only this module imports hashlib or blake3. Rule: spec README, ruling 8.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NewType

from blake3 import blake3

from bfcl.canonical import Json, canonical_json

Digest = NewType("Digest", str)
"""`sha256:<64 hex>`: a published identity."""

Fingerprint = NewType("Fingerprint", str)
"""64 hex digits of BLAKE3: an address in the build store."""


def sha256_bytes(data: bytes) -> bytes:
    """The raw 32 bytes."""
    return hashlib.sha256(data).digest()


def sha256_hex(data: bytes) -> str:
    """64 lower-case hex digits, no prefix."""
    return hashlib.sha256(data).hexdigest()


def sha256_of(data: bytes) -> Digest:
    """`sha256:<hex>` of bytes."""
    return Digest("sha256:" + hashlib.sha256(data).hexdigest())


def sha256_json(value: Json) -> Digest:
    """`sha256:<hex>` of the canonical JSON of a value."""
    return sha256_of(canonical_json(value))


def sha256_file(path: Path) -> Digest:
    """`sha256:<hex>` of a file's bytes, read in pieces."""
    with path.open("rb") as stream:
        return Digest("sha256:" + hashlib.file_digest(stream, "sha256").hexdigest())


class Sha256Stream:
    """SHA-256 of bytes that arrive in pieces and are never held together."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = hashlib.sha256()

    def update(self, data: bytes) -> None:
        self._state.update(data)

    def digest(self) -> Digest:
        """`sha256:<hex>` of everything so far."""
        return Digest("sha256:" + self._state.hexdigest())


def blake3_of(data: bytes) -> Fingerprint:
    """64 hex digits of BLAKE3 of bytes."""
    return Fingerprint(blake3(data).hexdigest())


def blake3_json(value: Json) -> Fingerprint:
    """BLAKE3 of the canonical JSON of a value."""
    return blake3_of(canonical_json(value))


def blake3_file(path: Path) -> Fingerprint:
    """BLAKE3 of a file's bytes; large files are memory-mapped."""
    if path.stat().st_size < 1 << 20:
        return blake3_of(path.read_bytes())
    return Fingerprint(blake3().update_mmap(path).hexdigest())
