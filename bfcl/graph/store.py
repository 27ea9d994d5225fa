"""The content-addressed store: immutable results under `build/<fp>/`, verified whenever they are used.

An entry is a directory named by the BLAKE3 of its key; `record.json` holds the key and the digest of every file.
Digests detect accident and casual edits, not a forger who recomputes them. Rule: generation.md §9.2, §9.6.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from bfcl.canonical import Json, canonical_json, from_canonical
from bfcl.digest import Fingerprint, blake3_file, blake3_json, blake3_of
from bfcl.errors import DriftError, Problem
from bfcl.files import remove_whole, storage, sync_dir, sync_tree, write_plain, write_synced
from bfcl.graph.layout import BuildTree

RECORD_CONTRACT = "bfcl-build-record/1"
KEY_CONTRACT = "bfcl-build/1"
_RECORD = "record.json"
_RECORD_BYTES: Final = 4096
"""As large as most records."""
_CHUNK: Final = 1 << 16
_LARGE: Final = 1 << 20

LEVEL_FILE: Final = "isolation.json"
"""Beside what the oracle had a part in: how well the worlds were shut in that it ran in."""

CIRCUMSTANCES: Final = frozenset({LEVEL_FILE})
"""Files that say how a result came about and not what it is; a result computed again may differ in them."""

_PLAIN = re.compile(r"[^/\x00-\x1f\ud800-\udfff]{1,80}(?:/[^/\x00-\x1f\ud800-\udfff]{1,80}){0,15}")

REMEDY = "delete the named entry or pointer, or all with `doit clean -a`; the next run computes it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What a result depends on, and nothing else: never a path, time, host, user or thread count."""

    stage: str
    shard: str | None
    code: str
    params: Mapping[str, Json]
    inputs: Mapping[str, str]

    def to_json(self) -> dict[str, Json]:
        return {
            "contract": KEY_CONTRACT,
            "stage": self.stage,
            "shard": self.shard,
            "code": self.code,
            "params": self.params,
            "inputs": self.inputs,
        }

    @property
    def fp(self) -> Fingerprint:
        """The entry's address."""
        return blake3_json(self.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A verified result. `files` maps a relative name to its BLAKE3."""

    fp: Fingerprint
    path: Path
    record_digest: Fingerprint
    key: Mapping[str, Json]
    files: Mapping[str, Fingerprint]

    def file(self, name: str) -> Path:
        """The path of one of its files."""
        if name not in self.files:
            raise KeyError(name)
        return self.path / name


class _Facts(NamedTuple):
    blake3: Fingerprint
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """`record.json`: the key, and the digest of every file."""

    fp: Fingerprint
    key: Mapping[str, Json]
    files: Mapping[str, _Facts]
    digest: Fingerprint

    def to_bytes(self) -> bytes:
        return canonical_json({**_body(self.fp, self.key, self.files), "record_digest": self.digest}) + b"\n"

    def entry(self, path: Path) -> Entry:
        files = {name: facts.blake3 for name, facts in self.files.items()}
        return Entry(fp=self.fp, path=path, record_digest=self.digest, key=self.key, files=files)


def _record(key: Key, files: Mapping[str, _Facts]) -> _Record:
    plain = key.to_json()
    fp = blake3_json(plain)
    return _Record(fp=fp, key=plain, files=files, digest=blake3_json(_body(fp, plain, files)))


def _body(fp: str, key: Mapping[str, Json], files: Mapping[str, _Facts]) -> dict[str, Json]:
    facts: dict[str, Json] = {name: each._asdict() for name, each in files.items()}
    return {"contract": RECORD_CONTRACT, "fp": fp, "key": key, "files": facts}


class Store:
    """Entries below one `build/`."""

    def __init__(self, tree: BuildTree) -> None:
        self.tree = tree
        self._verified: dict[str, Entry] = {}

    def find(self, fp: str) -> Entry | None:
        """The verified entry at `fp`, or None where it is wholly absent.

        Raises: DriftError `build_cache_tampered` naming each file that is not what its record says.
        """
        known = self._verified.get(fp)
        if known is not None:
            return known
        path = self.tree.entry(fp)
        if not os.path.lexists(path):
            return None
        entry = _verify(path, fp, self._shown(path))
        self._verified[fp] = entry
        return entry

    def get(self, fp: str) -> Entry:
        """The verified entry of a result that this run has made or found already.

        Raises: DriftError `build_cache_tampered`, also where it is gone.
        """
        entry = self.find(fp)
        if entry is None:
            raise vanished(f"build/{fp}")
        return entry

    @contextmanager
    def building(self, key: Key) -> Iterator[Path]:
        """A private directory to fill; on a clean exit it becomes the entry of `key`.

        Raises: DriftError `build_nondeterministic` where an entry of this key exists with other content;
        StageError `storage_failed`.
        """
        temporary = self.tree.unfinished()
        with storage(self.tree.root):
            temporary.mkdir(parents=True)
        try:
            yield temporary
            with storage(self.tree.root):
                self._commit(key, temporary)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def put(self, results: Sequence[tuple[Key, Mapping[str, bytes]]]) -> list[Entry]:
        """Store many small results, each whole or not at all, with one flush to the disk for all of them.

        Raises: as `building`.
        """
        batch = self.tree.unfinished()
        try:
            with storage(self.tree.root):
                batch.mkdir(parents=True)
                records = []
                for number, (key, files) in enumerate(results):
                    directory = batch / str(number)
                    directory.mkdir()
                    for name, data in files.items():
                        write_plain(directory / name, data)
                    facts = {name: _Facts(blake3_of(data), len(data)) for name, data in files.items()}
                    records.append((directory, _record(key, facts)))
                    write_plain(directory / _RECORD, records[-1][1].to_bytes())
                sync_tree(batch)
                entries = [self._place(directory, record) for directory, record in records]
                sync_dir(self.tree.root)
                return entries
        finally:
            shutil.rmtree(batch, ignore_errors=True)

    def holds(self, fp: str) -> bool:
        """Whether something stands at this address, verified or not."""
        return fp in self._verified or os.path.lexists(self.tree.entry(fp))

    def adopt(self, fp: str, files: Mapping[str, bytes], *, shown: str, fix: str) -> bool:
        """Take over an entry that somebody else stored, `record.json` among its files, once it verifies.

        Returns whether it was taken: not where an entry stands there by now. Raises: DriftError
        `build_cache_tampered` naming `shown`, and StageError `storage_failed`; then nothing was taken.
        """
        directory = self.tree.unfinished()
        inside = directory / fp
        try:
            with storage(self.tree.root):
                for name, data in files.items():
                    path = inside / name
                    if not is_plain(name):
                        raise tampered(shown, f"holds a file named {name!r}", fix=fix)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_plain(path, data)
            try:
                entry = _verify(inside, fp, fp)
            except DriftError as error:
                faults = "; ".join(f"{problem.subject} {problem.message}" for problem in error.problems)
                raise tampered(shown, faults, fix=fix) from None
            with storage(self.tree.root):
                sync_tree(directory)
                try:
                    inside.rename(self.tree.entry(fp))
                except OSError as error:
                    # What a directory that is not empty answers, by filesystem: somebody computed it meanwhile.
                    if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                        raise
                    return False
            self._verified[fp] = replace(entry, path=self.tree.entry(fp))
            return True
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def remove(self, fp: str) -> None:
        """Delete one entry whole: renamed away first, so that it is never seen half deleted."""
        self._verified.pop(fp, None)
        path = self.tree.entry(fp)
        grave = self.tree.unfinished()
        try:
            path.rename(grave)
        except FileNotFoundError:
            return
        remove_whole(grave)

    def sweep(self) -> None:
        """Delete what killed processes left behind. Call under the build lock only."""
        if self.tree.root.is_dir():
            for path in self.tree.leftovers():
                with suppress(OSError):
                    remove_whole(path)

    def _commit(self, key: Key, directory: Path) -> None:
        facts = {
            name: _Facts(blake3_file(directory / name), (directory / name).stat().st_size)
            for name in _listing(directory)
        }
        record = _record(key, facts)
        write_synced(directory / _RECORD, record.to_bytes())
        sync_tree(directory)
        self._place(directory, record)
        sync_dir(self.tree.root)

    def _place(self, directory: Path, record: _Record) -> Entry:
        """Make a filled directory the entry of its record, or hold it against the one that is there."""
        try:
            # A directory replaces only an empty one, so an entry that is there stays as it is.
            directory.rename(self.tree.entry(record.fp))
        except OSError:
            present = self.find(record.fp)
            if present is None:
                raise
            self._compare(present, record)
            return present
        entry = record.entry(self.tree.entry(record.fp))
        self._verified[record.fp] = entry
        return entry

    def _compare(self, present: Entry, record: _Record) -> None:
        fresh = {name: facts.blake3 for name, facts in record.files.items()}
        differing = sorted(
            name
            for name in (fresh.keys() | present.files) - CIRCUMSTANCES
            if fresh.get(name) != present.files.get(name)
        )
        if differing:
            stage = present.key.get("stage")
            shard = present.key.get("shard")
            raise DriftError(
                Problem(
                    code="build_nondeterministic",
                    subject=f"{stage}:{shard}" if shard else str(stage),
                    message=f"computed again from the same inputs, {', '.join(differing)} of build/{present.fp} "
                    "differs; the stored entry stays",
                    fix="look for clock, environment or set order in what this stage runs, then `doit clean` it",
                )
            )

    def _shown(self, path: Path) -> str:
        return f"build/{path.name}"


def is_plain(name: str) -> bool:
    """Whether a name stays below the directory it is joined to, and is one that our own entries could have."""
    return bool(_PLAIN.fullmatch(name)) and all(part not in (".", "..") for part in name.split("/"))


def _listing(directory: Path) -> list[str]:
    """Relative POSIX names of the files below a directory, sorted."""
    names: list[str] = []
    for folder, _, files in os.walk(directory):
        for name in files:
            names.append((Path(folder) / name).relative_to(directory).as_posix())
    return sorted(names)


def _verify(path: Path, fp: str, shown: str) -> Entry:
    """Re-hash an entry against its record. A run does so thousands of times: what it costs is calls to the system."""
    folder = os.fspath(path)
    try:
        if stat.S_ISLNK(os.lstat(folder).st_mode):
            raise tampered(f"{shown}/{_RECORD}", "is not a regular file")
        present = dict(_walk(folder))
        kind = present.pop(_RECORD, None)
        if kind is None:
            raise tampered(f"{shown}/{_RECORD}", "is missing")
        if kind != "file":
            raise tampered(f"{shown}/{_RECORD}", "is not a regular file")
        data = _read(f"{folder}/{_RECORD}", _RECORD_BYTES)
        record = from_canonical(data.decode())
        digest, stated = record["record_digest"], record["fp"]
        key, files = record["key"], record["files"]
        expected = {name: (facts["blake3"], _natural(facts["size"])) for name, facts in files.items()}
        body, of_key = _hashed_parts(data, stated, digest)
        own: str = blake3_of(body)
        named: str = blake3_of(of_key)
    except FileNotFoundError:
        raise tampered(f"{shown}/{_RECORD}", "is missing") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise tampered(f"{shown}/{_RECORD}", "is not a build record") from None
    if own != digest:
        raise tampered(f"{shown}/{_RECORD}", "does not match its own digest")
    if stated != fp or named != fp:
        raise tampered(f"{shown}/{_RECORD}", f"belongs to build/{named}")
    problems = _file_problems(folder, present, expected, shown)
    if problems:
        raise DriftError(problems)
    return Entry(
        fp=Fingerprint(fp),
        path=path,
        record_digest=Fingerprint(digest),
        key=key,
        files={name: Fingerprint(facts[0]) for name, facts in expected.items()},
    )


def _natural(size: object) -> int:
    """Raises: ValueError for what is no number of bytes."""
    if type(size) is not int or size < 0:
        raise ValueError(size)
    return size


def _hashed_parts(data: bytes, fp: str, digest: str) -> tuple[bytes, bytes]:
    """What the digests of a record's own bytes and of its key are made of.

    A record is canonical JSON with its digest at the end, so both stand in it as they were hashed. In one that is laid
    out otherwise something else is found, whose digests are others.
    """
    body = data.removesuffix(f',"record_digest":"{digest}"}}\n'.encode())
    return body + b"}", body.partition(f'"fp":"{fp}","key":'.encode())[2]


def _file_problems(
    folder: str, present: Mapping[str, str], expected: Mapping[str, tuple[str, int]], shown: str
) -> list[Problem]:
    problems: list[Problem] = []
    for name in sorted(present.keys() - expected.keys()):
        problems.extend(tampered(f"{shown}/{name}", "is not part of the entry").problems)
    for name, (digest, size) in sorted(expected.items()):
        kind = present.get(name)
        if kind is None:
            problems.extend(tampered(f"{shown}/{name}", "is missing").problems)
        elif kind != "file":
            problems.extend(tampered(f"{shown}/{name}", "is not a regular file").problems)
        elif _digest(f"{folder}/{name}", size) != digest:
            problems.extend(tampered(f"{shown}/{name}", "has changed since it was stored").problems)
    return problems


def _digest(path: str, size: int) -> Fingerprint:
    """Of a file that its record gives this size: a small one costs less read at once than looked at first."""
    return blake3_of(_read(path, size)) if size < _LARGE else blake3_file(Path(path))


def _read(path: str, size: int) -> bytes:
    """The whole of a file that is likely to have no more than so many bytes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(descriptor, size + 1)]
        while parts[-1]:
            parts.append(os.read(descriptor, _CHUNK))
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _walk(folder: str, prefix: str = "") -> Iterator[tuple[str, Literal["file", "other"]]]:
    with os.scandir(folder) as found:
        for item in found:
            name = prefix + item.name
            if item.is_dir(follow_symlinks=False):
                yield from _walk(item.path, name + "/")
            else:
                yield name, "file" if item.is_file(follow_symlinks=False) else "other"


def tampered(what: str, how: str, *, fix: str = REMEDY) -> DriftError:
    """The refusal for stored bytes that are not what was stored; nothing is repaired silently."""
    return DriftError(Problem(code="build_cache_tampered", subject=what, message=how, fix=fix))


def vanished(what: str) -> DriftError:
    """The refusal where a result or pointer that this run made or found is gone."""
    return tampered(what, "vanished during the run")
