"""Write the schema files where editors find them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bfcl.errors import ConfigError, Problem, raise_all
from bfcl.files import write_atomic
from bfcl.pack.layout import shown
from bfcl.pack.schema_files import NAMES, file_name, schema_bytes


class Exported(NamedTuple):
    """What an export wrote, and what was there already."""

    written: list[Path]
    unchanged: list[Path]


def export_schemas(directory: Path, *, force: bool) -> Exported:
    """Write every schema below `directory`, byte for byte as shipped.

    Raises: ConfigError `schema_file_differs` for each file with other content, unless `force`; nothing is written then.
    """
    files = {directory / file_name(name): schema_bytes(name) for name in NAMES}
    stale = [path for path, data in files.items() if not _holds(path, data)]
    problems = [
        Problem(
            code="schema_file_differs",
            path=shown(path.absolute()),
            message="is there already with other content; nothing was written",
            fix="choose another directory, or add `--force`",
        )
        for path in stale
        if path.exists() and not (force and path.is_file())
    ]
    raise_all(ConfigError, problems)
    for path in stale:
        write_atomic(path, files[path])
    return Exported(stale, [path for path in files if path not in stale])


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data
