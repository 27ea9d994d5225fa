"""What did an earlier `doit validate` find out that still holds? Rule: authoring.md §15.

Convenience for authors, never proof: the gate of generation computes everything again and cannot see this file.

One text file a pack, one finding a line: `<digest> <key> <value>`, most recently used last. The key is the digest of
all that the value depends on, the digest covers key and value: a line that was cut short or edited counts as absent.
The file may vanish at any time, and of two validations that write it at once one may lose its lines.
"""

from __future__ import annotations

import contextlib
import json
from functools import cached_property
from pathlib import Path
from typing import Final

from bfcl.canonical import Json, canonical_json
from bfcl.digest import blake3_json, blake3_of
from bfcl.errors import StageError
from bfcl.files import temporary_sibling, write_plain
from bfcl.graph.host import python_minor
from bfcl.graph.sources import code_digest
from bfcl.graph.validation_parts import VIEW_WITHOUT_PAGES, Parts, shut_in

CONTRACT: Final = "bfcl-validation/1"

KEPT_LINES: Final = 4096
KEPT_BYTES: Final = 32 * 1024**2
"""Of what this run did not use: older lines go first."""

_DIGEST: Final = 64


class ValidationEvidence:
    """Findings of earlier validations, looked up by what they depend on. Implements `checks.reuse.Reuse`.

    With `fresh` nothing earlier is found; what is computed replaces what was there.
    """

    def __init__(self, path: Path, parts: Parts, *, fresh: bool) -> None:
        self._path = path
        self._parts = parts
        self._lines = {} if fresh else _read(path)
        self._used: dict[str, bytes] = {}
        self._new: dict[tuple[str, frozenset[str]], bytes] = {}
        """What this run kept, as JSON: what it depends on is known when the run is over."""
        self.asked: dict[str, bool] = {}
        """Every name that was looked for, and whether it was found."""

    def find(self, name: str, reads: frozenset[str]) -> Json | None:
        """The value kept under this name for these very contents, or None."""
        text = self._new.get((name, reads)) or self._earlier(name, reads)
        value: Json = None
        if text is not None:
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(text)
        self.asked[name] = value is not None
        return value

    def keep(self, name: str, reads: frozenset[str], value: Json) -> None:
        """Remember a value for these very contents."""
        self._new[name, reads] = canonical_json(value)

    def save(self, *, saw_pages: bool) -> None:
        """Write what was used and the newest of the rest. What cannot be written is not remembered.

        `saw_pages` says whether the pack's code looked at a page for people in this run: else what it brought holds
        whatever stands there.
        """
        if not self._new:
            return
        for (name, reads), text in self._new.items():
            rest = self._key(name, reads, saw_pages=saw_pages).encode() + b" " + text
            self._used[rest[:_DIGEST].decode()] = blake3_of(rest).encode() + b" " + rest
        lines = {**_read(self._path), **self._lines}
        older = [line for key, line in lines.items() if key not in self._used]
        room = KEPT_BYTES
        kept: list[bytes] = []
        for line in reversed(older[-KEPT_LINES:]):
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
        self._replace(b"".join(line + b"\n" for line in [*reversed(kept), *self._used.values()]))

    def _earlier(self, name: str, reads: frozenset[str]) -> bytes | None:
        for saw_pages in (False, True):
            key = self._key(name, reads, saw_pages=saw_pages)
            line = self._lines.get(key)
            if line is not None:
                self._used[key] = line
                return line[2 * _DIGEST + 2 :]
        return None

    def _replace(self, body: bytes) -> None:
        temporary = temporary_sibling(self._path)
        with contextlib.suppress(OSError, StageError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                # Not flushed to the disk: a torn line is noticed when it is read.
                write_plain(temporary, body)
                temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)

    def _key(self, name: str, reads: frozenset[str], *, saw_pages: bool) -> str:
        counted = reads if saw_pages else {VIEW_WITHOUT_PAGES if part == "view" else part for part in reads}
        contents: dict[str, Json] = {part: self._parts.digest(part) for part in counted}
        return blake3_json({**self._common, "name": name, "reads": contents})

    @cached_property
    def _common(self) -> dict[str, Json]:
        """What every value depends on, whatever it reads."""
        return {
            "contract": CONTRACT,
            "code": code_digest("validation"),
            "python": python_minor(),
            "shut_in": blake3_json(shut_in()),
        }


def _read(path: Path) -> dict[str, bytes]:
    """Key to line of every line that is as it was written, in the file's order."""
    try:
        data = path.read_bytes() if path.is_file() else b""
    except OSError:
        return {}
    found: dict[str, bytes] = {}
    for line in data.split(b"\n"):
        digest, rest = line[:_DIGEST], line[_DIGEST + 1 :]
        if digest == blake3_of(rest).encode():
            key = rest[:_DIGEST].decode("ascii", "replace")
            found.pop(key, None)
            found[key] = line
    return found
