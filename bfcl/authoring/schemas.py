"""Write the schema files where editors find them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from bfcl.errors import ConfigError, Problem, raise_all
from bfcl.files import AlreadyThereError, create_files, write_atomic
from bfcl.pack.layout import shown
from bfcl.pack.schema_files import NAMES, file_name, schema_bytes


class Exported(NamedTuple):
    """What an export wrote, and what was there already."""

    written: list[Path]
    unchanged: list[Path]


def export_schemas(directory: Path, *, force: bool) -> Exported:
    """Write every schema below `directory`, byte for byte as shipped.

    What is missing is created as a whole or not at all; what differs is then replaced file by file, with `force` alone.
    Raises: ConfigError `schema_file_differs` for each file with other content, unless `force`; nothing is written then.
    """
    files = {directory / file_name(name): schema_bytes(name) for name in NAMES}
    stale = [path for path, data in files.items() if not _holds(path, data)]
    there = [path for path in stale if os.path.lexists(path)]
    raise_all(ConfigError, [_differs(path) for path in there if not (force and path.is_file())])
    try:
        create_files(directory, {path.name: files[path] for path in stale if path not in there})
    except AlreadyThereError as error:
        raise ConfigError(_differs(error.path)) from None
    for path in there:
        write_atomic(path, files[path])
    return Exported(stale, [path for path in files if path not in stale])


def _differs(path: Path) -> Problem:
    return Problem(
        code="schema_file_differs",
        path=shown(path.absolute()),
        message="is there already with other content; nothing was written",
        fix="choose another directory, or add `--force`",
    )


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data
