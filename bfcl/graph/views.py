"""`stage_cache/`: the readable copies of stored results, and whether somebody touched them.

Every copy is recorded with its BLAKE3 before it is made; a file that is neither what stood there nor what was put
there was edited by hand, and is refused rather than overwritten. Rule: generation.md §9.6.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bfcl.canonical import readable_json
from bfcl.digest import blake3_file, blake3_of
from bfcl.errors import DriftError, Problem
from bfcl.files import storage, sync_dir, sync_file, temporary_sibling, write_atomic

_LEDGER = ".views.json"


class _Mark(NamedTuple):
    """What the file system says of a file. The time of the last change of any kind cannot be set back."""

    device: int
    inode: int
    size_bytes: int
    written_ns: int
    changed_ns: int


class _Seen(NamedTuple):
    mark: _Mark
    digest: str


class Views:
    """The copies in one `stage_cache/`.

    Every checkpoint looks at all copies of the stages before. Each is hashed when it is first looked at, and again
    where the file system tells of a change. Before the manifest `graph/manifest.py` hashes all, whatever it tells.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._seen: dict[str, _Seen] = {}
        """What this very process has hashed; nothing of an earlier run is trusted."""
        self._guard = threading.RLock()
        """Two stages may finish at once under `doit -n`, and the ledger is read, changed and written."""

    def check(self, stored: Mapping[str, str | None]) -> None:
        """Raise DriftError `build_cache_tampered` for every named copy that is not what was put there.

        `stored` maps each name to the BLAKE3 of the result last pointed at, None where there is none: it speaks for
        copies that the ledger no longer knows.
        """
        ledger = self._read()
        for name, digest in stored.items():
            if digest is not None:
                ledger.setdefault(name, [digest])
        problems = [
            Problem(
                code="build_cache_tampered",
                subject=f"stage_cache/{name}",
                message="has changed since it was written",
                fix=f"delete {self.directory / name}; the next run writes it again",
            )
            for name in stored
            if name in ledger and self._digest(name) not in (None, *ledger[name])
        ]
        if problems:
            raise DriftError(problems)

    def copy(self, sources: Mapping[str, Path]) -> None:
        """Make each named file a copy of its source, where it is not already."""
        wanted = {name: blake3_file(path) for name, path in sources.items()}
        stale = [name for name in wanted if self._digest(name) != wanted[name]]
        with self._guard:
            self._announce(wanted)
        for name in stale:
            self._place(name, sources[name])

    def write(self, name: str, data: bytes) -> None:
        """Write a small file that no stored result holds (the validation report)."""
        with self._guard:
            self._announce({name: blake3_of(data)})
        write_atomic(self.directory / name, data)

    def remove(self, names: Iterable[str]) -> None:
        """Remove copies, and their entries in the ledger."""
        with self._guard:
            ledger = self._read()
            before = dict(ledger)
            for name in names:
                (self.directory / name).unlink(missing_ok=True)
                ledger.pop(name, None)
            if self.directory.is_dir() and ledger != before:
                self._write(ledger)

    def _place(self, name: str, source: Path) -> None:
        with storage(self.directory / name):
            temporary = temporary_sibling(self.directory / name)
            try:
                shutil.copyfile(source, temporary)
                temporary.chmod(0o644)
                sync_file(temporary)
                temporary.replace(self.directory / name)
            finally:
                temporary.unlink(missing_ok=True)
            sync_dir(self.directory)

    def _announce(self, wanted: Mapping[str, str]) -> None:
        # Before the copies: a kill in between leaves either the old or the new bytes, and both are known.
        ledger = self._read()
        before = dict(ledger)
        for name, digest in wanted.items():
            present = self._digest(name)
            ledger[name] = [digest] if present in (None, digest) else [present, digest]
        if ledger != before:
            self._write(ledger)

    def _digest(self, name: str) -> str | None:
        path = self.directory / name
        if not path.is_file():
            self._seen.pop(name, None)
            return None
        mark = _mark(path)
        known = self._seen.get(name)
        if known is None or known.mark != mark:
            # The mark from before the bytes were read: whatever changes them from here on changes it.
            known = self._seen[name] = _Seen(mark, blake3_file(path))
        return known.digest

    def _read(self) -> dict[str, list[str]]:
        try:
            value = json.loads((self.directory / _LEDGER).read_bytes())
            return {str(name): [str(digest) for digest in digests] for name, digests in value.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def _write(self, ledger: Mapping[str, list[str]]) -> None:
        write_atomic(self.directory / _LEDGER, readable_json(dict(ledger)))


def _mark(path: Path) -> _Mark:
    found = path.stat()
    return _Mark(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
