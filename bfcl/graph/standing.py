"""Whether a stage's last result still stands, so that doit may skip it: read only, and False in any doubt."""

from __future__ import annotations

from pathlib import Path

from bfcl.digest import blake3_file
from bfcl.errors import BfclError
from bfcl.graph.host import pyarrow_version, python_minor
from bfcl.graph.opening import Opening
from bfcl.graph.sources import code_digest
from bfcl.graph.store import Entry
from bfcl.stages import Stage


def stage_stands(opening: Opening, stage: Stage) -> bool:
    """Re-hash pointer, entries and readable copies. Where something is amiss the action runs, and refuses if it must.

    Whether the inputs changed is doit's question, answered by `file_dep`.
    """
    if opening.noop:
        return True
    if opening.wants_fresh:
        return False
    try:
        return _stands(opening, stage)
    except BfclError:
        return False


def _stands(opening: Opening, stage: Stage) -> bool:
    pointer = opening.pointer(stage.name)
    run = opening.invocation.run
    if pointer is None or run is None:
        return False
    merged = opening.store.find(pointer.fp)
    if merged is None or not _made_by(merged, "merge" if stage.sharded else stage.name):
        return False
    pointer.check(merged)
    for shard in pointer.shards:
        entry = opening.store.find(shard.fp)
        if entry is None or not _made_by(entry, stage.name):
            return False
    return all(_shows(run.stage_cache / name, merged, name) for name in stage.writes)


def _made_by(entry: Entry, kind: str) -> bool:
    params = entry.key.get("params")
    assert isinstance(params, dict)
    return (
        entry.key.get("code") == code_digest(kind)
        and params.get("pyarrow", pyarrow_version()) == pyarrow_version()
        and params.get("python", python_minor()) == python_minor()
    )


def _shows(path: Path, merged: Entry, name: str) -> bool:
    return path.is_file() and blake3_file(path) == merged.files[name]
