"""What identifies the files of an exported tree, wherever it lies? Rule: generation.md §7.

SHA-256 over the sorted POSIX names relative to the tree: name, NUL, raw SHA-256 of the file's bytes, NUL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bfcl.digest import Digest, Sha256Stream, sha256_file


def tree_hash(files: Mapping[str, Digest]) -> Digest:
    """The hash of a tree given as relative POSIX name to the digest of its bytes."""
    stream = Sha256Stream()
    for name in sorted(files):
        stream.update(name.encode() + b"\0" + bytes.fromhex(files[name].removeprefix("sha256:")) + b"\0")
    return stream.digest()


def tree_files(directory: Path) -> dict[str, Digest]:
    """Every file below a directory, by its relative POSIX name. Names that are no UTF-8 raise UnicodeEncodeError."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder) / name
            found[path.relative_to(directory).as_posix()] = sha256_file(path)
    return found
