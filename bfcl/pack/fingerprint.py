"""Exactly which bytes is a pack made of? Refusals, entries, the aggregate and drift. Rule: pack.md §1.4, §12."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.digest import Digest, sha256_file, sha256_of
from bfcl.errors import DriftError, PackError, Problem, raise_all
from bfcl.pack.layout import logical_name, shown
from bfcl.pack.model import Pack

CONTRACT = "bfcl-pack-fingerprint/1"
_VERSION_CONTROL = frozenset({".git", ".hg", ".svn"})
_BYTECODE_ENDINGS = (".pyc", ".pyo")


def fingerprint(entries: Mapping[str, Digest]) -> Digest:
    """The aggregate of logical paths and their SHA-256, whatever the order of `entries`."""
    stream = bytearray(f"{CONTRACT}\n".encode())
    stream += struct.pack(">Q", len(entries))
    for path, digest in sorted((path.encode(), digest) for path, digest in entries.items()):
        stream += struct.pack(">Q", len(path)) + path + bytes.fromhex(digest.removeprefix("sha256:"))
    return sha256_of(bytes(stream))


class Tree(NamedTuple):
    """The files a pack is made of, by logical path, sorted: what is in each, and where it lies on disk."""

    digests: Mapping[str, Digest]
    paths: Mapping[str, Path]


def read_tree(root: Path, declared: Mapping[str, Path], known: Mapping[Path, bytes] | None = None) -> Tree:
    """Every file below `root` and each declared input outside it.

    `declared` maps keys (`tools`, `fixtures`, ...) to resolved files; those inside the tree are entries already.
    `known` gives the bytes of files that were read before, so that what was parsed is what is fingerprinted.
    Raises: PackError `pack_bytecode_refused`, `pack_tree_unsupported_entry`, `pack_file_missing`, all at once.
    """
    real = Path(os.path.realpath(root))
    walk = _Walk(real)
    walk.run()
    files = dict(walk.files)
    for key, path in declared.items():
        if not path.is_relative_to(real):
            files[logical_name(path, real, key)] = path
    problems = walk.all_problems()
    entries: dict[str, Digest] = {}
    for logical in sorted(files, key=str.encode):
        path = files[logical]
        content = (known or {}).get(path)
        try:
            entries[logical] = sha256_file(path) if content is None else sha256_of(content)
        except OSError as error:
            if not isinstance(error, FileNotFoundError) or path in declared.values():
                problems.append(_unreadable(path, error))
    if problems:
        raise PackError(problems)
    return Tree(entries, {logical: files[logical] for logical in entries})


class _Walk:
    """One pass over the tree: regular files by logical name, refused entries."""

    def __init__(self, root: Path) -> None:
        self.files: dict[str, Path] = {}
        self._root = root
        self._bytecode: list[str] = []
        self._problems: list[Problem] = []

    def run(self) -> None:
        pending = [self._root]
        while pending:
            directory = pending.pop()
            try:
                with os.scandir(directory) as listing:
                    found = sorted(listing, key=lambda entry: os.fsencode(entry.name))
            except FileNotFoundError as error:
                # Below the root: gone since it was listed, as an editor's temporary file may be.
                if directory == self._root:
                    self._problems.append(_unreadable(directory, error))
                continue
            except OSError as error:
                self._problems.append(_unreadable(directory, error))
                continue
            pending += [Path(entry.path) for entry in found if self._is_directory_to_enter(entry)]

    def all_problems(self) -> list[Problem]:
        """In path order, the bytecode refusal first."""
        self._problems.sort(key=lambda problem: problem.path or "")
        return [*self._bytecode_problem(), *self._problems]

    def _is_directory_to_enter(self, entry: os.DirEntry[str]) -> bool:
        path = Path(entry.path)
        try:
            entry.name.encode()
        except UnicodeEncodeError:
            self._refuse(path, "has a name that is not UTF-8", "rename it")
            return False
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except FileNotFoundError:
            return False
        if stat.S_ISLNK(mode):
            self._refuse(path, "is a symbolic link", "put the file itself there")
        elif stat.S_ISDIR(mode):
            if entry.name in _VERSION_CONTROL:
                self._refuse(
                    path, "is a version control directory", "keep the pack in a sub-directory of its repository"
                )
            elif entry.name.lower() == "__pycache__":
                self._bytecode.append(shown(path))
            else:
                return True
        elif not stat.S_ISREG(mode):
            self._refuse(path, "is neither a regular file nor a directory", "remove it")
        elif entry.name.lower().endswith(_BYTECODE_ENDINGS):
            self._bytecode.append(shown(path))
        else:
            self._add(path)
        return False

    def _add(self, path: Path) -> None:
        logical = logical_name(path, self._root, "")
        if logical in self.files:
            other = self.files[logical].name.encode("unicode_escape").decode()
            message = f"has the same name as `{other}` once both are normalised (NFC)"
            self._refuse(path, message, "rename one of the two")
        self.files[logical] = path

    def _refuse(self, path: Path, message: str, fix: str) -> None:
        self._problems.append(
            Problem(code="pack_tree_unsupported_entry", path=shown(path), message=f"the entry {message}", fix=fix)
        )

    def _bytecode_problem(self) -> Iterator[Problem]:
        if self._bytecode:
            listed = ", ".join(f"`{path}`" for path in sorted(self._bytecode))
            yield Problem(
                code="pack_bytecode_refused",
                path=shown(self._root),
                message=f"Python bytecode lies in the pack: {listed}",
                fix="delete it, and set PYTHONDONTWRITEBYTECODE=1 where you import the pack yourself",
            )


def _unreadable(path: Path, error: OSError) -> Problem:
    return Problem(
        code="pack_file_missing",
        path=shown(path),
        message=f"the entry cannot be read: {error.strerror}",
        fix="make it readable, and let no other program write into the pack",
    )


def read_entry(pack: Pack, logical: str) -> bytes:
    """A file's bytes, the very ones that were fingerprinted. Raises DriftError `pack_drift` where they are no more."""
    try:
        data = pack.paths[logical].read_bytes()
    except OSError:
        data = None
    if data is None or sha256_of(data) != pack.entries[logical]:
        raise DriftError(
            Problem(
                code="pack_drift",
                subject=logical,
                message="changed while the pack was being read",
                fix="run the same command again when nobody edits the pack",
            )
        )
    return data


def check_drift(pack: Pack) -> None:
    """Raise DriftError `pack_drift` naming what moved in the pack since it was loaded."""
    try:
        now = read_tree(pack.root, {role: file.path for role, file in pack.files.items()}).digests
    except PackError as error:
        raise DriftError(error.problems) from None
    raise_all(DriftError, drift(pack.entries, now, declared_inputs(pack)))


_NAMED_BY: Final = {
    "config": "named by the configuration",
    "manifest": "named by the manifest",
    "canonical": "under its usual name",
}


def declared_inputs(pack: Pack) -> dict[str, str]:
    """Logical path of each declared file to its role and what names it."""
    return {file.logical: f"`{role}`, {_NAMED_BY[file.origin]}" for role, file in pack.files.items()}


def drift(before: Mapping[str, Digest], after: Mapping[str, Digest], declared: Mapping[str, str]) -> list[Problem]:
    """`pack_drift`, one per added, removed or changed logical path, in path order; empty where nothing moved.

    `declared` maps the logical paths of the pack's declared inputs to what each is; each problem says whether its file
    is one, or merely lies in the tree.
    """
    moved = sorted({path for path in {*before, *after} if before.get(path) != after.get(path)}, key=str.encode)
    any_declared = any(path in declared for path in moved)
    problems = []
    for path in moved:
        what = "added" if path not in before else "removed" if path not in after else "changed"
        if path in declared:
            said = f"a declared oracle input: {declared[path]}"
        else:
            said = "an undeclared file" + ("" if any_declared else "; no declared oracle input changed")
        problems.append(
            Problem(
                code="pack_drift",
                subject=path,
                message=f"{what} since the pack was read ({said})",
                fix="run again once nothing writes into the pack; keep notes beside it",
            )
        )
    return problems
