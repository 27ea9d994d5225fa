"""Which of a release's root inputs changed between two looks at them? Rule: generation.md §9.5, §11.8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from bfcl.canonical import Json, canonical_text

_LISTS: Final[Mapping[str, str]] = {"pack": "pack file", "package": "program file"}
"""Inputs that are maps of files to digests, and what one of the files is called."""

_NAMES: Final[Mapping[str, str]] = {
    "pack_oddities": "links, special files and refused directories in the pack",
    "python": "Python",
    "pyarrow": "pyarrow",
    "reference_samples": "the reference samples",
}


def changed_inputs(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    """What to call each input that differs between two results of `Invocation.root_inputs`; empty where none does.

    In the order configuration, pack, program, the rest by name; files by path.
    """
    found = [f"configuration {key}" for key in _differing(before.get("config"), after.get("config"))]
    for name, noun in _LISTS.items():
        found += [f"{noun} {change}" for change in _files(before.get(name), after.get(name))]
    rest = sorted((before.keys() | after.keys()) - {"config", *_LISTS})
    return found + [_told(name, before, after) for name in rest if before.get(name) != after.get(name)]


def _told(name: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> str:
    title = _NAMES.get(name, name)
    one, other = before.get(name), after.get(name)
    if name in ("python", "pyarrow"):
        return f"{title} ({one}, now {other})"
    if isinstance(one, list) and isinstance(other, list):
        odd = sorted({canonical_text(item) for item in one} ^ {canonical_text(item) for item in other})
        return f"{title} ({', '.join(odd)})"
    return title


def _files(before: Json, after: Json) -> Iterator[str]:
    one = before if isinstance(before, Mapping) else {}
    other = after if isinstance(after, Mapping) else {}
    for path in sorted({*one, *other}, key=str.encode):
        if one.get(path) != other.get(path):
            what = "added" if path not in one else "removed" if path not in other else "changed"
            yield f"`{path}` {what}"


def _differing(before: Json, after: Json, place: str = "") -> Iterator[str]:
    """Dotted places of the values that differ, by name."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _differing(before.get(key), after.get(key), f"{place}.{key}" if place else key)
    elif before != after:
        yield f"`{place}`"
