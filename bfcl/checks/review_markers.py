"""Which lines of a pack still wait for a person's review? Rule: pack.md §11, `review_marker_present`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from bfcl.pack.model import Pack
from bfcl.records.verdict import Finding

REVIEW_MARKER = b"BFCL-TODO"
"""What scaffolds and assisted drafting leave where a person must look; a pack that holds one was not reviewed."""

_BINARY = b"\0"


def findings(pack: Pack) -> list[Finding]:
    """One finding for each line of any text file of the pack that still holds the marker, by file name and line."""
    return [finding for logical, path in sorted(_files(pack).items()) for finding in _marked(logical, path)]


def _marked(logical: str, path: Path) -> Iterator[Finding]:
    try:
        data = path.read_bytes()
    except OSError:
        return  # gone since the pack was loaded: the fingerprint taken after validation refuses that
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


def _files(pack: Pack) -> dict[str, Path]:
    """Every fingerprinted file by logical name. Names on disk may be composed differently; logical ones are NFC."""
    declared = {file.logical: file.path for file in pack.files.values()}
    found: dict[str, Path] = {}
    for logical in pack.entries:
        path = declared.get(logical, pack.root / logical.removeprefix("tree/"))
        found[logical] = path if path.exists() else _composed_otherwise(pack.root, logical)
    return found


def _composed_otherwise(root: Path, logical: str) -> Path:
    wanted = logical.removeprefix("tree/")
    same = (path for path in root.rglob("*") if unicodedata.normalize("NFC", str(path.relative_to(root))) == wanted)
    return next(same, root / wanted)
