"""Which digest pins a directory of weights? Rule: translation.md §13.2, `bfcl-weight-manifest-v1`.

It is of the list of all files, each with its path, size and SHA-256, by path: names of files count, their times do not.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.digest import sha256_file, sha256_json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.pack.layout import shown

SCHEME: Final = "bfcl-weight-manifest-v1"
UNSUPPORTED: Final = "weights_tree_unsupported"

_FIX: Final = "name a plain copy of the weights: `cp -rL` follows the links of a download cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTree:
    """The digest of a tree, and how much it is of."""

    digest: str
    """`bfcl-weight-manifest-v1:<64 hex>`."""
    files: int
    size_bytes: int


class _File(NamedTuple):
    name: str
    """From the root, parts parted by `/`."""
    path: Path


def digest_of_tree(root: Path) -> WeightTree:
    """Hash every file below `root`, hidden ones too.

    Raises: EvalError `weights_tree_unsupported` with every entry that is neither a directory nor a plain file, a tree
    without a file, and a file that changed while it was read.
    """
    if root.is_symlink() or not root.is_dir():
        raise EvalError(_problem(root, "is no directory; expected one that holds weights"))
    problems: list[Problem] = []
    files = sorted(_files(root, "", problems), key=lambda file: file.name.encode())
    raise_all(EvalError, problems)
    if not files:
        raise EvalError(_problem(root, "holds no file; expected the files of a model"))
    entries = [_entry(file) for file in files]
    digest = sha256_json([{"path": path, "size": size, "sha256": sha256} for path, size, sha256 in entries])
    return WeightTree(
        digest=f"{SCHEME}:{digest.removeprefix('sha256:')}",
        files=len(entries),
        size_bytes=sum(size for _, size, _ in entries),
    )


def _files(directory: Path, above: str, problems: list[Problem]) -> Iterator[_File]:
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        problems.append(_problem(directory, f"cannot be read: {error.strerror}"))
        return
    for path in entries:
        mode = path.lstat().st_mode
        if not _is_utf8(path.name):
            problems.append(_problem(directory, f"holds the name {path.name!a}, which is no UTF-8"))
        elif stat.S_ISDIR(mode):
            yield from _files(path, f"{above}{path.name}/", problems)
        elif stat.S_ISREG(mode):
            yield _File(above + path.name, path)
        else:
            what = "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
            problems.append(_problem(path, f"is {what}; expected directories and plain files"))


def _entry(file: _File) -> tuple[str, int, Json]:
    try:
        before = file.path.stat()
        digest = sha256_file(file.path)
        after = file.path.stat()
    except OSError as error:
        raise EvalError(_problem(file.path, f"cannot be read: {error.strerror}")) from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise EvalError(_problem(file.path, "changed while it was read; expected weights that nobody writes"))
    return file.name, after.st_size, digest.removeprefix("sha256:")


def _is_utf8(name: str) -> bool:
    try:
        os.fsencode(name).decode()
    except UnicodeDecodeError:
        return False
    return True


def _problem(path: Path, message: str) -> Problem:
    return Problem(code=UNSUPPORTED, path=shown(path), message=message, fix=_FIX)
