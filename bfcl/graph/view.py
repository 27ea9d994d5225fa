"""The oracle view: the part of a pack that its oracle may see, as an immutable store entry. Rule: generation.md §9.2.

Everything counts but templates, validation cases and held-out file: so a backend cannot read those beside itself, and
an edit to a template leaves every other template's replays valid.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.config.model import RunConfig
from bfcl.digest import Digest, sha256_of
from bfcl.errors import DriftError, Problem
from bfcl.files import write_synced
from bfcl.graph.sources import code_digest
from bfcl.graph.store import Entry, Key, Store
from bfcl.oracle.protocol import OracleSpec
from bfcl.pack.layout import logical_name
from bfcl.pack.model import Pack, PackFile, Role

STAGE: Final = "oracle_view"
HIDDEN_ROLES: Final[tuple[Role, ...]] = ("templates", "validation_cases")
CODE_ROLES: Final[tuple[Role, ...]] = ("backend", "assertions")
TREE: Final = "tree"


def store_view(store: Store, pack: Pack) -> str:
    """The address of the pack's view, stored if it is not there yet.

    Raises: DriftError `pack_drift` where a file changed since the pack was loaded.
    """
    hidden = {pack.files[role].logical for role in HIDDEN_ROLES}
    shown = {
        logical: str(digest)
        for logical, digest in pack.entries.items()
        if logical not in hidden and (logical.startswith("tree/") or _is_code(pack, logical))
    }
    # SHA-256 of each file, as taken at load, identifies the content as well as BLAKE3 would, and saves a reading.
    # Which files are imported, and as what, is as much an input as their bytes.
    params: dict[str, Json] = {role: _place(pack.files[role]) for role in CODE_ROLES}
    key = Key(stage=STAGE, shard=None, code=code_digest(STAGE), params=params, inputs=shown)
    if store.find(key.fp) is None:
        sources = _sources(pack)
        with store.building(key) as directory:
            for logical in shown:
                _copy(*sources[logical], pack.entries[logical], directory)
    return key.fp


def oracle_spec(pack: Pack, config: RunConfig, entry: Entry) -> OracleSpec:
    """How to start the pack's worlds from its view."""
    runtime = config.oracle_runtime
    return OracleSpec(
        view=str(entry.path / TREE),
        backend=str(entry.path / _place(pack.files["backend"])),
        assertions=str(entry.path / _place(pack.files["assertions"])),
        fixtures=canonical_text(pack.fixtures) if pack.has_fixtures else None,
        clock=runtime.clock,
        tool_timeout_s=runtime.tool_timeout_s,
        assertion_timeout_s=runtime.assertion_timeout_s,
        import_timeout_s=runtime.import_timeout_s,
        reset_timeout_s=runtime.reset_timeout_s,
        episode_timeout_s=runtime.episode_timeout_s,
    )


def _is_code(pack: Pack, logical: str) -> bool:
    return any(pack.files[role].logical == logical for role in CODE_ROLES)


def _place(file: PackFile) -> str:
    """Where a code file lies in the view; one declared outside the pack keeps its name in a directory of its own."""
    return file.logical if file.logical.startswith("tree/") else f"{file.logical}/{file.path.name}"


def _sources(pack: Pack) -> dict[str, tuple[Path, str]]:
    """Logical path to the file on disk and its place in the view. Names on disk need not be normalised (NFC)."""
    found: dict[str, tuple[Path, str]] = {}
    for folder, _, names in os.walk(pack.root):
        for name in names:
            path = Path(folder) / name
            logical = logical_name(path, pack.root, "")
            found[logical] = (path, logical)
    found.update({file.logical: (file.path, _place(file)) for file in pack.files.values()})
    return found


def _copy(source: Path, place: str, digest: Digest, directory: Path) -> None:
    data = source.read_bytes()
    if sha256_of(data) != digest:
        raise DriftError(
            Problem(
                code="pack_drift",
                subject=place,
                message="changed while the pack was being read",
                fix="run the same command again when nobody edits the pack",
            )
        )
    target = directory / place
    target.parent.mkdir(parents=True, exist_ok=True)
    write_synced(target, data)
