"""Where do the checkpoints of a run lie, how do they get there and go, and are they as they were written?

One directory a stage below `stage_cache/checkpoints/`, put there and taken away by a rename: a kill leaves a shorter
chain, never half a checkpoint. Rule: generation.md §5.
"""

from __future__ import annotations

import math
import os
import secrets
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from bfcl.digest import blake3_file
from bfcl.errors import DriftError, Problem, raise_all
from bfcl.files import remove_whole, storage, sync_dir, write_synced
from bfcl.graph.layout import RunTree
from bfcl.stages import STAGES

CHECKPOINTS: Final = "stage_cache/checkpoints"
"""Below the run tree; also how messages name it."""

MANIFEST: Final = "manifest.json"
STATE: Final = "state.json"

_ASIDE: Final = ".checkpoints-"
"""Begins the names, in `stage_cache/`, of what is about to be placed and of what is about to be deleted."""


def directory(run: RunTree) -> Path:
    """The directory that holds one directory a stage."""
    return run.root / CHECKPOINTS


def place(run: RunTree, stage: str, files: Mapping[str, bytes]) -> None:
    """Put a stage's checkpoint there, whole or not at all. Raises: StageError `storage_failed`."""
    target = directory(run) / stage
    aside = _aside(run)
    try:
        with storage(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            aside.mkdir()
        for name, data in files.items():
            write_synced(aside / name, data, shown=target / name)
        with storage(target):
            sync_dir(aside)
            _take_away(run, target)
            aside.rename(target)
            sync_dir(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def clear(run: RunTree) -> None:
    """Remove all checkpoints of a run at once, and what killed processes left of others.

    Raises: StageError `storage_failed`.
    """
    with storage(directory(run)):
        _take_away(run, directory(run))
        _sweep(run)


def keep_only(run: RunTree, kept: Collection[str]) -> None:
    """Remove whatever lies among the checkpoints but those of the stages `kept`: strangers, then stages from the last.

    What no stage of this run would leave goes too, such as the checkpoint of a stage that is bypassed by now.
    Raises: StageError `storage_failed`.
    """
    if not kept:
        clear(run)
        return
    place_of = {stage.name: stage.index for stage in STAGES}
    with storage(directory(run)):
        others = [path.name for path in directory(run).iterdir() if path.name not in kept]
        for name in sorted(others, key=lambda name: (place_of.get(name, math.inf), name), reverse=True):
            _take_away(run, directory(run) / name)
        _sweep(run)


def check_files(run: RunTree, written: Mapping[str, str]) -> bool:
    """Whether every file of the chain is there. `written` maps its path below the checkpoints to its BLAKE3.

    Raises: DriftError `build_cache_tampered` for each file that has changed or does not belong there.
    """
    root = directory(run)
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise DriftError(_odd(run, CHECKPOINTS, "is not a directory"))
    present = {name: path for path in root.rglob("*") if not _is_plain(path) for name in [_name(root, path)]}
    strange = sorted(name for name in present if name not in written)
    changed = sorted(name for name, path in present.items() if name in written and _digest(path) != written[name])
    raise_all(
        DriftError,
        [
            *(_odd(run, f"{CHECKPOINTS}/{name}", "is no file of a checkpoint") for name in strange),
            *(_odd(run, f"{CHECKPOINTS}/{name}", "has changed since it was written") for name in changed),
        ],
    )
    return present.keys() == written.keys()


def _is_plain(path: Path) -> bool:
    """Whether it is a directory that holds something; an empty one is looked at like a file."""
    return path.is_dir() and not path.is_symlink() and any(path.iterdir())


def _digest(path: Path) -> str | None:
    return blake3_file(path) if path.is_file() and not path.is_symlink() else None


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _odd(run: RunTree, subject: str, message: str) -> Problem:
    return Problem(
        code="build_cache_tampered",
        subject=subject,
        message=message,
        fix=f"delete {directory(run)}; the next run writes the checkpoints again",
    )


def _take_away(run: RunTree, path: Path) -> None:
    """Take away whatever stands at `path`, a link itself and never what it names; absent is fine."""
    if os.path.lexists(path):
        aside = _aside(run)
        path.rename(aside)
        sync_dir(path.parent)
        remove_whole(aside)


def _sweep(run: RunTree) -> None:
    if run.stage_cache.is_dir():
        for path in run.stage_cache.glob(f"{_ASIDE}*"):
            remove_whole(path)


def _aside(run: RunTree) -> Path:
    return run.stage_cache / f"{_ASIDE}{secrets.token_hex(6)}"
