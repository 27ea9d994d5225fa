"""Where does each world find the pack, and what are its places called in an answer?

World B imports from a copy of its own, so that whatever leaks of a place differs: paths with and without links
resolved, inodes, times of files. Answers name places by stable words, another one in each world: so what leaked still
differs, and no row and no report holds a path that the next run would not have.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bfcl.canonical import canonical_text
from bfcl.oracle.ambience import Ambience
from bfcl.oracle.protocol import OracleSpec

_LAID: Final = "tree"
"""What a view is called in the directory it is laid out in."""
_TIME_NS: Final = 1_000_000_000 * 10**9
"""When the files of a copy were changed last, as they tell."""
_OF_WORLD: Final = {"a": "", "b": " of world B"}


def twin(spec: OracleSpec, directory: Path, name: str) -> OracleSpec:
    """The same pack, copied to `directory/name`. Raises OSError where there is no room.

    A path in it never has the length of the path it is a copy of.
    """
    root = directory / name
    if len(str(root)) == len(spec.view):
        root = directory / f"{name}-"
    _copy_tree(Path(spec.view), root)
    return replace(
        spec,
        view=str(root),
        backend=_copied(spec.backend, spec.view, root),
        assertions=_copied(spec.assertions, spec.view, root),
    )


def _copied(file: str, view: str, root: Path) -> str:
    """A module's path in the copy; one outside the view gets a directory beside it, under the name it has."""
    path = Path(file)
    if path.is_relative_to(view):
        return str(root / path.relative_to(view))
    beside = root.with_name(f"{root.name}-{path.name}")
    beside.mkdir(exist_ok=True)
    _copy_file(path, beside / path.name)
    return str(beside / path.name)


def _copy_tree(source: Path, target: Path) -> None:
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir()
        for name in names:
            _copy_file(Path(folder) / name, there / name)
    for folder, _, _ in os.walk(target):
        os.utime(folder, ns=(_TIME_NS, _TIME_NS))


def _copy_file(source: Path, target: Path) -> None:
    # Not linked: a link would have the inode and the times of what it is linked to.
    shutil.copyfile(source, target)
    os.utime(target, ns=(_TIME_NS, _TIME_NS))


def naming(spec: OracleSpec, ambience: Ambience, temporary: Path) -> Callable[[str], str]:
    """What puts words for places into the JSON text of an answer that a world at `spec` gave.

    `temporary` is the directory that holds the private directories of the worlds.
    """
    of_world = _OF_WORLD[ambience.name]
    view = Path(spec.view)
    named = {spec.view: f"<pack{of_world}>", str(temporary): "<temporary>"}
    if view.name == _LAID:
        named[str(view.parent)] = f"<view{of_world}>"
    words = {_in_json(path): word for path, word in named.items()}
    home = f"{re.escape(_in_json(str(temporary)))}/{ambience.directory_prefix}\\w{{8}}(?:/private)?"
    paths = sorted(map(re.escape, words), key=len, reverse=True)
    pattern = re.compile("|".join([home, *paths]))
    # Searching for a few plain texts is all that most answers cost.
    marks = tuple(words)

    def told(text: str) -> str:
        if not any(mark in text for mark in marks):
            return text
        return pattern.sub(lambda found: words.get(found[0], f"<private{of_world}>"), text)

    return told


def _in_json(path: str) -> str:
    return canonical_text(path)[1:-1]
