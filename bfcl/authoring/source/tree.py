"""What lies in a source directory, seen as if files still to be written were there already?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bfcl.errors import PackError, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """A source directory. Names are relative, `/` between parts.

    `label` is how messages name the directory. `planned` holds files that count as present: what a scaffold is about
    to write is judged before anything is written.
    """

    root: Path
    label: str
    planned: Mapping[str, bytes] = field(default_factory=dict)

    def shown(self, name: str) -> str:
        """The name as messages print it."""
        return PurePosixPath(self.label, name).as_posix()

    def is_file(self, name: str) -> bool:
        return name in self.planned or (self.root / name).is_file()

    def is_dir(self, name: str) -> bool:
        return (self.root / name).is_dir()

    def holds_python(self, name: str) -> bool:
        """Whether any Python file lies below a directory."""
        return any(entry.endswith(".py") for _, _, files in os.walk(self.root / name) for entry in files)

    def link(self, name: str) -> str | None:
        """The first part of the name that is a symbolic link, or None."""
        return next((part for part in _steps(name) if (self.root / part).is_symlink()), None)

    def read(self, name: str) -> bytes | None:
        """The file's bytes; None where there is no regular file. Raises PackError `source_package_invalid`."""
        if name in self.planned:
            return self.planned[name]
        if not self.is_file(name):
            return None
        return read_source(self.root / name, self.shown(name))


def _steps(name: str) -> Iterator[str]:
    parts = PurePosixPath(name).parts
    for length in range(1, len(parts) + 1):
        yield "/".join(parts[:length])


def read_source(path: Path, shown: str) -> bytes:
    """A file's bytes. Raises PackError `source_package_invalid` where the system refuses them."""
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        fix = "make the file readable"
        raise PackError(Problem(code="source_package_invalid", path=shown, message=message, fix=fix)) from None
