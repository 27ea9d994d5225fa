"""The oracle view as an immutable store entry. Rule: generation.md §9.2."""

from __future__ import annotations

from typing import Final

from bfcl.canonical import Json
from bfcl.graph.sources import code_digest
from bfcl.graph.store import Key, Store
from bfcl.oracle.view import lay_view, place_in_view, shown_entries
from bfcl.pack.model import CODE_ROLES, Pack

STAGE: Final = "oracle_view"


def store_view(store: Store, pack: Pack, *, anew: bool = False) -> str:
    """The address of the pack's view, stored if it is not there yet; `anew` lays it again and compares.

    Raises: DriftError `pack_drift` where a file changed since the pack was loaded, `build_nondeterministic` where the
    stored view is not what the pack's files make.
    """
    key = view_key(pack)
    if anew or store.find(key.fp) is None:
        with store.building(key) as directory:
            lay_view(pack, directory)
    return key.fp


def view_key(pack: Pack) -> Key:
    """What the view is made of."""
    # SHA-256 of each file, as taken at load, identifies the content as well as BLAKE3 would, and saves a reading.
    shown = {logical: str(digest) for logical, digest in shown_entries(pack).items()}
    # Which files are imported, and as what, is as much an input as their bytes.
    params: dict[str, Json] = {role: place_in_view(pack.files[role]) for role in CODE_ROLES if role in pack.files}
    return Key(stage=STAGE, shard=None, code=code_digest(STAGE), params=params, inputs=shown)
