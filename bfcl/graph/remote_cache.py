"""A build cache shared with others, behind any fsspec URL: read through, written back, verified, never needed.

One object an entry, at `<url>/bfcl-build-1/<two hex digits>/<fp>`: a line of canonical JSON that gives names and sizes,
then the files' bytes in name order. What is read back is held against the record and the record against its
address, so it is trusted as far as `build/` itself is. A cache that cannot be reached costs a warning, never a run.
Rule: spec README, ruling 13; generation.md §9.6.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from bfcl.canonical import canonical_json
from bfcl.errors import ConfigError, Problem
from bfcl.graph.store import Entry, Store, tampered

LAYOUT: Final = "bfcl-build-1"
BATCH: Final = 64
"""Objects asked for or sent at once: enough to hide a slow line, few enough to hold in memory."""

_USERINFO = re.compile(r"//[^/@]*@")
_QUERY = re.compile(r"\?.*")
_LOCAL = frozenset({"file", "local"})

Say = Callable[[str], None]


@dataclass(slots=True)
class Traffic:
    """What went over the line in one run."""

    read: int = 0
    written: int = 0


class RemoteCache:
    """The cache at one URL. Make it with `open_cache`."""

    def __init__(self, filesystem: Any, root: str, shown: str, say: Say) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self._shown = shown
        """The URL without what may be a secret."""
        self._say = say
        self._failing: set[str] = set()
        """What was given up: reading, writing, or both. A job may well be allowed the one alone."""
        self._is_local = bool(_LOCAL & set(_protocols(filesystem)))
        self._torn: set[str] = set()
        self.traffic = Traffic()

    def fetch(self, store: Store, fps: Iterable[str]) -> None:
        """Bring into `store` what it lacks and the cache has.

        Raises: DriftError `build_cache_tampered` naming an object that is not what its address says; StageError
        `storage_failed`.
        """
        wanted = [fp for fp in dict.fromkeys(fps) if not store.holds(fp)]
        for start in range(0, len(wanted), BATCH):
            places = {self._place(fp): fp for fp in wanted[start : start + BATCH]}
            for place, data in self._read(list(places)).items():
                self._adopt(store, places[place], data)

    def send(self, entries: Iterable[Entry]) -> None:
        """Offer entries to others; one that is there stays as it is."""
        offered = list(entries)
        for start in range(0, len(offered), BATCH):
            batch = {self._place(entry.fp): entry for entry in offered[start : start + BATCH]}
            self._attempt("write to", lambda batch=batch: self._write(batch))  # type: ignore[misc]

    def _place(self, fp: str) -> str:
        return f"{self._root}/{LAYOUT}/{fp[:2]}/{fp}"

    def _read(self, places: list[str]) -> dict[str, bytes]:
        found: dict[str, Any] = {}

        def read() -> None:
            # An object that is not there is the usual case; every other failure is told.
            if self._is_local:
                found.update({place: self._read_local(place) for place in places})
                return
            answers = self._filesystem.cat(places, on_error="return")
            if isinstance(answers, bytes):
                answers = {places[0]: answers}
            found.update({place: answers.get(self._filesystem._strip_protocol(place)) for place in places})
            for answer in found.values():
                if isinstance(answer, Exception) and not isinstance(answer, (FileNotFoundError, KeyError)):
                    raise answer

        self._attempt("read from", read)
        return {place: data for place, data in found.items() if isinstance(data, bytes)}

    def _read_local(self, place: str) -> bytes | None:
        # One by one: asked for several, fsspec takes brackets and stars of a directory's name for patterns.
        try:
            data: bytes = self._filesystem.cat_file(place)
        except FileNotFoundError:
            return None
        return data

    def _adopt(self, store: Store, fp: str, data: bytes) -> None:
        files = _unpacked(data)
        if files is None:
            # Torn while somebody wrote it: as good as absent, and written whole when this run has computed it.
            self._torn.add(fp)
            return
        self.traffic.read += 1
        fault = store.adopt(fp, files)
        if fault is not None:
            raise tampered(
                f"{self._shown}/{LAYOUT}/{fp[:2]}/{fp}",
                fault,
                fix="delete that object, or run without `cache=`; then find out who wrote it",
            )

    def _write(self, batch: Mapping[str, Entry]) -> None:
        missing = {
            place: entry
            for place, entry in batch.items()
            if entry.fp in self._torn or not self._filesystem.exists(place)
        }
        blobs = {place: _packed(entry) for place, entry in missing.items()}
        if not blobs:
            return
        if self._is_local:
            self._write_local(blobs)
        else:
            # Object stores show an object when all of it has arrived.
            self._filesystem.pipe(blobs)
        self.traffic.written += len(blobs)

    def _write_local(self, blobs: Mapping[str, bytes]) -> None:
        for place, blob in blobs.items():
            beside = f"{place}.{secrets.token_hex(8)}"
            self._filesystem.makedirs(place.rpartition("/")[0], exist_ok=True)
            self._filesystem.pipe_file(beside, blob)
            self._filesystem.mv(beside, place)

    def _attempt(self, what: str, act: Callable[[], None]) -> None:
        """Do it; the first failure is told, and nothing of the kind is tried again."""
        if what in self._failing:
            return
        try:
            act()
        except Exception as error:  # noqa: BLE001 - every filesystem of fsspec raises errors of its own kind
            self._failing.add(what)
            self._say(
                f"warning: cannot {what} the cache {self._shown}: {type(error).__name__}; this run goes on without it"
            )


def open_cache(url: str, say: Say) -> RemoteCache:
    """The cache at `url`, an fsspec URL or an absolute path; nothing is read or written yet.

    Raises: ConfigError `extra_not_installed` without fsspec, `cache_unavailable` where no filesystem answers to it.
    """
    fsspec = _fsspec()
    shown = _QUERY.sub("", _USERINFO.sub("//", url)).rstrip("/")
    try:
        filesystem, root = fsspec.core.url_to_fs(url)
    except Exception as error:  # noqa: BLE001 - every filesystem of fsspec raises errors of its own kind
        # The text of the error may hold the URL, and that a password.
        reason = str(error) if isinstance(error, ImportError) else f"refused with {type(error).__name__}"
        raise ConfigError(
            Problem(
                code="cache_unavailable",
                subject="cache",
                message=f"no filesystem answers to `{shown}`: {reason}",
                fix="install the library fsspec names for it, or name a directory or another URL",
            )
        ) from None
    return RemoteCache(filesystem, root, shown, say)


def _fsspec() -> ModuleType:
    try:
        import fsspec
        import fsspec.core
    except ImportError:
        raise ConfigError(
            Problem(
                code="extra_not_installed",
                subject="cache",
                message="`fsspec`, which reads and writes a shared cache, is not installed",
                fix="pip install 'bfcl-build[cache]'",
            )
        ) from None
    module: ModuleType = fsspec
    return module


def _protocols(filesystem: Any) -> tuple[str, ...]:
    protocol = filesystem.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _packed(entry: Entry) -> bytes:
    names = sorted([*entry.files, "record.json"])
    bodies = [(entry.path / name).read_bytes() for name in names]
    head = canonical_json({"files": [[name, len(body)] for name, body in zip(names, bodies, strict=True)]})
    return b"".join([head, b"\n", *bodies])


def _unpacked(data: bytes) -> dict[str, bytes] | None:
    """Name to bytes; None for an object that ends before what its head promises."""
    head, _, rest = data.partition(b"\n")
    try:
        sizes = [(str(name), int(size)) for name, size in json.loads(head)["files"]]
    except (ValueError, KeyError, TypeError):
        return None
    if sum(size for _, size in sizes) != len(rest) or any(size < 0 for _, size in sizes):
        return None
    files, start = {}, 0
    for name, size in sizes:
        files[name] = rest[start : start + size]
        start += size
    return files
