"""How does data get into a page? As gzip of one JSON document, so that many thousand records still open."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

from bfcl.canonical import Json, canonical_json, canonical_text, readable_json

_LEVEL: Final = 6
_LINE: Final = 48
"""Longer JSON values are spread over lines."""


class Packer:
    """Gzip of `{"rows": [...], ...}`, a record at a time."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        self._pieces = [self._packer.compress(b'{"rows":[')]
        self.rows = 0

    def add(self, rows: Iterable[Json]) -> None:
        """Records in their order."""
        self.add_encoded(map(canonical_json, rows))

    def add_encoded(self, rows: Iterable[bytes]) -> None:
        """Records that are JSON already."""
        for row in rows:
            self._pieces.append(self._packer.compress((b",\n" if self.rows else b"\n") + row))
            self.rows += 1

    def end(self, **beside: Json) -> bytes:
        """The whole, with what stands beside the records."""
        members = b"".join(b",%s:%s" % (canonical_json(name), canonical_json(beside[name])) for name in sorted(beside))
        self._pieces += [self._packer.compress(b"]" + members + b"}"), self._packer.flush()]
        return b"".join(self._pieces)


def json_text(value: Json) -> str:
    """JSON for people: one line where it is short. Made here, since a browser would turn `1.0` into `1`."""
    line = canonical_text(value)
    return line if len(line) <= _LINE else readable_json(value).decode().rstrip()
