"""The oracle view: the part of a pack that its oracle may see, laid out on disk. Rule: generation.md §9.2.

Everything counts but templates, validation cases and held-out file: so a backend cannot read those beside itself, and
an edit to one leaves what the oracle said valid. Where a held-out policy hides its rows from the oracle, the fixtures
file is shown without them. Files that an override took such a role from are hidden like the one in use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bfcl.canonical import canonical_text
from bfcl.config.model import RunConfig
from bfcl.digest import Digest, sha256_of
from bfcl.errors import PackError, Problem
from bfcl.files import write_synced
from bfcl.oracle.protocol import OracleSpec
from bfcl.pack.fingerprint import read_entry
from bfcl.pack.held_out import reset_fixtures
from bfcl.pack.layout import shown
from bfcl.pack.model import CODE_ROLES, Pack, PackFile, Role

HIDDEN_ROLES: Final[tuple[Role, ...]] = ("templates", "validation_cases", "held_out")
TREE: Final = "tree"
_PREFIX: Final = f"{TREE}/"


def shown_entries(pack: Pack) -> Mapping[str, Digest]:
    """Logical path to SHA-256 of every file in the view."""
    hidden = {pack.files[role].logical for role in HIDDEN_ROLES if role in pack.files}
    # An override made these idle; they hold the same things all the same.
    idle: tuple[Role, ...] = HIDDEN_ROLES
    code = {pack.files[role].logical for role in CODE_ROLES if role in pack.files}
    projected = _projected(pack)
    if projected:
        idle = (*idle, "fixtures")
    hidden.update(logical for role in idle for logical in pack.displaced.get(role, ()))
    return {
        logical: sha256_of(projected[logical]) if logical in projected else digest
        for logical, digest in pack.entries.items()
        if logical not in hidden and (logical in code or logical.startswith(_PREFIX))
    }


def _projected(pack: Pack) -> Mapping[str, bytes]:
    """Logical path to content of the fixtures file where the oracle sees less of it than lies on disk; else empty."""
    fixtures = reset_fixtures(pack)
    if fixtures is pack.fixtures:
        return {}
    # In the file's own order, which a backend may go by.
    text = json.dumps(fixtures, indent=2, ensure_ascii=False, allow_nan=False)
    return {pack.files["fixtures"].logical: f"{text}\n".encode()}


def lay_view(pack: Pack, directory: Path) -> None:
    """Copy the view's files below `directory`.

    Raises: DriftError `pack_drift` where a file changed since the pack was loaded.
    """
    projected = _projected(pack)
    # A code file declared outside the pack keeps its name: others import it by that.
    named = {pack.files[role].logical: place_in_view(pack.files[role]) for role in CODE_ROLES if role in pack.files}
    for logical in shown_entries(pack):
        data = read_entry(pack, logical)
        target = directory / named.get(logical, logical)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_synced(target, projected.get(logical, data))


def oracle_spec(pack: Pack, config: RunConfig, directory: Path) -> OracleSpec:
    """How to start the pack's worlds from its view at `directory` (absolute).

    Raises: PackError `unsupported_config_feature` where the oracle is a service, which no world can hold.
    """
    if pack.endpoint is not None:
        message = "the oracle of this pack is a service; this release runs Python oracles only"
        place = shown(pack.files["endpoint"].path)
        raise PackError(
            Problem(code="unsupported_config_feature", path=place, message=message, fix="write a `backend.py`")
        )
    runtime = config.oracle_runtime
    return OracleSpec(
        view=str(directory / TREE),
        backend=str(directory / place_in_view(pack.files["backend"])),
        assertions=str(directory / place_in_view(pack.files["assertions"])),
        fixtures=canonical_text(reset_fixtures(pack)) if pack.has_fixtures else None,
        clock=runtime.clock,
        tool_timeout_s=runtime.tool_timeout_s,
        assertion_timeout_s=runtime.assertion_timeout_s,
        import_timeout_s=runtime.import_timeout_s,
        reset_timeout_s=runtime.reset_timeout_s,
        episode_timeout_s=runtime.episode_timeout_s,
    )


def place_in_view(file: PackFile) -> str:
    """Where a code file lies in the view; one declared outside the pack keeps its name in a directory of its own."""
    return file.logical if file.logical.startswith(_PREFIX) else f"{file.logical}/{file.path.name}"
