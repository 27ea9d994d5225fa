"""How does a directory of new files appear at once, or not at all? Rule: authoring.md §1 item 3."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from bfcl.errors import ConfigError, Problem
from bfcl.files import make_directories, storage, sync_dir, write_synced
from bfcl.pack.layout import shown

_FIX = "choose another `--target`; nothing that exists is overwritten"


def place_new(target: Path, files: Mapping[str, bytes]) -> Path:
    """Create the directory `target` with these files, and its missing parents; return its absolute path.

    The files are staged in a sibling directory. Whatever goes wrong, nothing that was created here stays.
    Raises: ConfigError `target_exists`, `target_invalid`; StageError `storage_failed`.
    """
    target = Path(os.path.abspath(target))  # noqa: PTH100 - `resolve` would follow the very link that must be refused
    _refuse_obstacle(target)
    with storage(target), ExitStack() as undo:
        make_directories(target.parent, undo)
        staged = target.with_name(f".bfcl-{secrets.token_hex(6)}")
        undo.callback(shutil.rmtree, staged, ignore_errors=True)
        staged.mkdir()
        for name, data in files.items():
            write_synced(staged / name, data, shown=target / name)
        sync_dir(staged)
        try:
            # `rename` alone would replace an empty directory that somebody made meanwhile; `mkdir` never does.
            target.mkdir()
        except FileExistsError:
            raise ConfigError(_exists(target)) from None
        with ExitStack() as claimed:
            claimed.callback(target.rmdir)
            staged.replace(target)
            claimed.pop_all()
        undo.pop_all()
    sync_dir(target.parent)
    return target


def _refuse_obstacle(target: Path) -> None:
    if not _is_utf8(target):
        message = "is no UTF-8, and packs below such a path cannot be run"
        raise ConfigError(
            Problem(code="target_invalid", path=shown(target), message=message, fix="choose another path")
        )
    if os.path.lexists(target):
        raise ConfigError(_exists(target))
    wall = next(above for above in target.parents if os.path.lexists(above))
    if not wall.is_dir():
        message = "is there already and is no directory, so the pack cannot lie below it"
        raise ConfigError(Problem(code="target_exists", path=shown(wall), message=message, fix=_FIX))


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _exists(target: Path) -> Problem:
    return Problem(code="target_exists", path=shown(target), message="is there already; expected a new path", fix=_FIX)
