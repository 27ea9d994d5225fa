"""Are the model replies that a publication may be made of still recorded? Their file only ever grows at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bfcl.digest import Sha256Stream

_PIECE: Final = 1 << 20


def recorded_so_far(path: Path) -> str:
    """`<size> <SHA-256>` of a file of replies, empty text where there is none."""
    return _start_of(path, path.stat().st_size) if path.is_file() else ""


def still_recorded(path: Path, before: str) -> bool:
    """Whether the file still starts with what `recorded_so_far` saw then; what was appended since is no matter."""
    size = before.partition(" ")[0]
    return before == "" or (size.isdecimal() and path.is_file() and _start_of(path, int(size)) == before)


def _start_of(path: Path, size: int) -> str:
    stream = Sha256Stream()
    left = size
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, _PIECE))):
            stream.update(piece)
            left -= len(piece)
    return f"{size - left} {stream.digest()}"
