"""Which lines of a pack still wait for a person's review? Rule: pack.md §11, `review_marker_present`."""

from __future__ import annotations

from collections.abc import Iterator

from bfcl.pack.fingerprint import read_entry
from bfcl.pack.model import Pack
from bfcl.records.verdict import Finding

REVIEW_MARKER = b"BFCL-TODO"
"""What scaffolds and assisted drafting leave where a person must look; a pack that holds one was not reviewed."""

_BINARY = b"\0"


def findings(pack: Pack) -> list[Finding]:
    """One finding for each line of any text file of the pack that still holds the marker, by file name and line.

    Raises: DriftError `pack_drift` where a file is not as it was when the pack was loaded.
    """
    return [finding for logical in sorted(pack.paths) for finding in _marked(logical, read_entry(pack, logical))]


def _marked(logical: str, data: bytes) -> Iterator[Finding]:
    if REVIEW_MARKER not in data or _BINARY in data:
        return
    for number, line in enumerate(data.splitlines(), start=1):
        if REVIEW_MARKER in line:
            yield Finding(
                code="review_marker_present",
                message=f"line {number} still holds `{REVIEW_MARKER.decode()}`",
                file=logical.removeprefix("tree/"),
                line=number,
                fix="review what the line says, then remove the marker",
            )
