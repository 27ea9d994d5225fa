"""Which files of another result does a command replace that reads finished evaluations? None."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.artifacts.names import CONFLICT
from bfcl.files import storage, write_atomic
from bfcl.pack.layout import shown

ELSEWHERE: Final = "move it away, or choose another --out"


def write_once(contents: Mapping[Path, bytes], *, fix: str, code: str = CONFLICT) -> None:
    """Write files and the directories they need; equal ones that are there stay as they are.

    Raises: EvalError `code` naming every path where something else is, and nothing is written; StageError
    `storage_failed`.
    """
    missing = {path: data for path, data in contents.items() if not _is_there(path, data)}
    message = "is there and says something else"
    others = [path for path in missing if os.path.lexists(path)]
    raise_all(EvalError, [Problem(code=code, subject=shown(path), message=message, fix=fix) for path in others])
    for path, data in missing.items():
        write_atomic(path, data)


def _is_there(path: Path, data: bytes) -> bool:
    with storage(path):
        return path.is_file() and path.read_bytes() == data
