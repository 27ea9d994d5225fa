"""Did the pack move on disk since it was loaded? Rule: pack.md §12."""

from __future__ import annotations

from bfcl.errors import DriftError, PackError, raise_all
from bfcl.pack.fingerprint import drift, read_entries
from bfcl.pack.model import Pack


def check_drift(pack: Pack) -> None:
    """Raise DriftError `pack_drift` naming what moved in the pack since it was loaded."""
    try:
        now = read_entries(pack.root, {role: file.path for role, file in pack.files.items()})
    except PackError as error:
        raise DriftError(error.problems) from None
    raise_all(DriftError, drift(pack.entries, now, {file.logical for file in pack.files.values()}))
