"""A build cache shared with others, behind any fsspec URL: read through, written back, verified, never needed.

One object an entry, at `<url>/bfcl-build-1/<two hex digits>/<fp>`: a line of canonical JSON that gives names and sizes,
then the files' bytes in name order. What is read back is held against the record and the record against its
address, so it is trusted as far as `build/` itself is. A cache that cannot be reached costs a warning, never a run.
Rule: spec README, ruling 13; generation.md §9.6.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Final, TypeVar

from bfcl.canonical import canonical_json
from bfcl.errors import ConfigError, Problem, install
from bfcl.graph.store import Entry, Store
from bfcl.graph.variables import shown_url

LAYOUT: Final = "bfcl-build-1"
BATCH: Final = 64
"""Objects asked for or sent at once: enough to hide a slow line."""
HELD_BYTES: Final = 32 * 2**20
"""Of objects sent at once, unless one alone is larger: the tables of a whole stage are not held side by side."""

_FIX: Final = "delete that object, or run without `cache=`; then find out who wrote it"
_LOCAL = frozenset({"file", "local"})

Say = Callable[[str], None]
Answer = TypeVar("Answer")


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
            asked = wanted[start : start + BATCH]
            found = self._attempt("read from", partial(self._contents, asked))
            for fp, data in zip(asked, found or [], strict=False):
                if data is not None:
                    self._adopt(store, fp, data)

    def send(self, entries: Iterable[Entry]) -> None:
        """Offer entries to others; one that is there stays as it is."""
        offered = list(entries)
        for start in range(0, len(offered), BATCH):
            batch = offered[start : start + BATCH]
            there = self._attempt("write to", partial(self._there, [entry.fp for entry in batch]))
            if there is None:
                return
            for group in _portions([entry for entry in batch if entry.fp not in there]):
                # Our own files are read out here: what is wrong with them is no failure of the cache.
                blobs = {self._place(entry.fp): _packed(entry) for entry in group}
                self.traffic.written += self._attempt("write to", partial(self._write, blobs)) or 0

    def _place(self, fp: str) -> str:
        return f"{self._root}/{LAYOUT}/{fp[:2]}/{fp}"

    def _adopt(self, store: Store, fp: str, data: bytes) -> None:
        files = _unpacked(data)
        if files is None:
            # Torn while somebody wrote it: as good as absent, and written whole when this run has computed it.
            self._torn.add(fp)
        elif store.adopt(fp, files, shown=f"{self._shown}/{LAYOUT}/{fp[:2]}/{fp}", fix=_FIX):
            self.traffic.read += 1

    # --- on the line: whatever these raise is told as a failure of the cache ---

    def _contents(self, fps: Sequence[str], stop: int | None = None) -> list[bytes | None]:
        """Each object's bytes, of the first `stop` if given; None for one that is not there, the usual case."""
        # Ranges are what fsspec reads of many objects, at once where the filesystem can, without taking brackets and
        # stars in their names for patterns.
        places = [self._place(fp) for fp in fps]
        answers = self._filesystem.cat_ranges(places, [None if stop is None else 0] * len(places), [stop] * len(places))
        for answer in answers:
            if isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError):
                raise answer
        return [answer if isinstance(answer, bytes) else None for answer in answers]

    def _there(self, fps: Sequence[str]) -> set[str]:
        """Those of which a first byte is there, the torn excepted."""
        asked = [fp for fp in fps if fp not in self._torn]
        return {fp for fp, byte in zip(asked, self._contents(asked, 1), strict=True) if byte}

    def _write(self, blobs: Mapping[str, bytes]) -> int:
        if self._is_local:
            for place, blob in blobs.items():
                beside = f"{place}.{secrets.token_hex(8)}"
                self._filesystem.makedirs(place.rpartition("/")[0], exist_ok=True)
                self._filesystem.pipe_file(beside, blob)
                self._filesystem.mv(beside, place)
        else:
            # Object stores show an object when all of it has arrived.
            self._filesystem.pipe(blobs)
        return len(blobs)

    def _attempt(self, what: str, act: Callable[[], Answer]) -> Answer | None:
        """What it returns; None once it has failed, which is told once, and nothing of the kind is tried again."""
        if what in self._failing:
            return None
        try:
            return act()
        except Exception as error:  # noqa: BLE001 - every filesystem of fsspec raises errors of its own kind
            self._failing.add(what)
            self._say(
                f"warning: cannot {what} the cache {self._shown}: {type(error).__name__}; this run goes on without it"
            )
            return None


def open_cache(url: str, say: Say) -> RemoteCache:
    """The cache at `url`, an fsspec URL or an absolute path; nothing is read or written yet.

    Raises: ConfigError `extra_not_installed` without fsspec, `cache_unavailable` where no filesystem answers to it.
    """
    fsspec = _fsspec()
    shown = shown_url(url).rstrip("/")
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
                fix=install("cache"),
            )
        ) from None
    module: ModuleType = fsspec
    return module


def _protocols(filesystem: Any) -> tuple[str, ...]:
    protocol = filesystem.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _portions(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Consecutive entries of `HELD_BYTES` together at most, or one alone."""
    portion: list[Entry] = []
    held = 0
    for entry in entries:
        size = sum(entry.file(name).stat().st_size for name in entry.files)
        if portion and held + size > HELD_BYTES:
            yield portion
            portion, held = [], 0
        portion.append(entry)
        held += size
    if portion:
        yield portion


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
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
    if sum(size for _, size in sizes) != len(rest) or any(size < 0 for _, size in sizes):
        return None
    files, start = {}, 0
    for name, size in sizes:
        files[name] = rest[start : start + size]
        start += size
    return files
