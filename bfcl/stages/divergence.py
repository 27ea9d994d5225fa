"""Where do two JSON values differ?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bfcl.canonical import Json, canonical_text

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SHOWN = 60
ABSENT = "nothing"
"""How a side is shown that has no value at the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A place where two values part. `path` reads `a.b[2]`, empty at the root; both sides as shortened JSON."""

    path: str
    left: str
    right: str


def first_difference(left: Json, right: Json) -> Difference | None:
    """The first of `differences`; None where canonical JSON is equal."""
    return next(differences(left, right), None)


def differences(left: Json, right: Json, path: str = "") -> Iterator[Difference]:
    """Every difference, object keys in sorted order, list elements by index; a list's extra elements one by one.

    JSON types are strict: `1`, `1.0` and `true` are three different values.
    """
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            below = _step(path, key)
            if key not in left:
                yield Difference(path=below, left=ABSENT, right=shortened(right[key]))
            elif key not in right:
                yield Difference(path=below, left=shortened(left[key]), right=ABSENT)
            else:
                yield from differences(left[key], right[key], below)
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
        for index in range(min(len(left), len(right)), max(len(left), len(right))):
            shown = [shortened(side[index]) if index < len(side) else ABSENT for side in (left, right)]
            yield Difference(path=f"{path}[{index}]", left=shown[0], right=shown[1])
    elif canonical_text(left) != canonical_text(right):
        yield Difference(path=path, left=shortened(left), right=shortened(right))


def shortened(value: Json) -> str:
    """Canonical JSON of a value, at most 60 characters."""
    text = canonical_text(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _step(path: str, key: str) -> str:
    if not _NAME.match(key):
        return f"{path}[{canonical_text(key)}]"
    return f"{path}.{key}" if path else key
