"""Does pack code look at pages written for people: a README, the `validate.yaml`? Noticed, never refused.

An edit to such a page then changes nothing that was found out without looking at one: decision 0009. Noticed are the
ways that Python audits (opening, listing with sizes, linking, databases) and asking `os` for what is known of a file.
Anything in doubt counts as looked at. Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_PAGE = "validate.yaml"
_README = "readme"
_README_ENDINGS = ("", ".md", ".rst", ".txt")
"""Nothing that Python imports and no database."""

_fspath, _fsdecode, _stat = os.fspath, os.fsdecode, os.stat


def is_page(name: str) -> bool:
    """Whether a file of the pack, by its path from the root, is a page: one that stands in the root itself."""
    stem, ending = os.path.splitext(name.lower())
    return name == _PAGE or (stem.startswith(_README) and "/" not in name and ending in _README_ENDINGS)


class PageWatch:
    """What pack code did about pages. `note` is called, from whatever process, for each look at one."""

    def __init__(self, roots: tuple[str, ...], note: Callable[[], None]) -> None:
        """`roots` are the directories that hold the pages; names count wherever they stand: links lead anywhere."""
        self._roots = {(found.st_dev, found.st_ino) for found in map(_stat, roots)}
        self._note = note

    def saw(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audited event; `EVENTS` names those that can be a look."""
        if self._lists_a_root(arguments[0]) if event == "os.scandir" else self._may_be_page(arguments[0]):
            self._note()

    def watch_stat(self) -> None:
        """From here on `os.stat` and `os.lstat` are watched, too: Python does not audit them, and a size is content."""
        for name in ("stat", "lstat"):
            original = getattr(os, name)
            watched = self._watched(original)
            setattr(os, name, watched)
            for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
                if original in able:
                    able.add(watched)

    def _watched(self, original: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def stat(path: Any, *arguments: Any, **keywords: Any) -> os.stat_result:
            if self._may_be_page(path):
                self._note()
            return original(path, *arguments, **keywords)

        stat.__name__ = stat.__qualname__ = original.__name__
        stat.__doc__ = original.__doc__
        return stat

    def _may_be_page(self, path: Any) -> bool:
        if path is None or isinstance(path, int):
            return False  # whatever a descriptor stands for was opened by its name
        try:
            name = _fsdecode(_fspath(path))
        except (TypeError, ValueError):
            return True
        name = name.rstrip("/").rpartition("/")[2].partition("?")[0].lower()
        return name.startswith(_README) or name == _PAGE

    def _lists_a_root(self, path: Any) -> bool:
        try:
            found = _stat("." if path is None else path)
        except (OSError, TypeError, ValueError):
            return True
        return (found.st_dev, found.st_ino) in self._roots


EVENTS = frozenset({"open", "os.scandir", "os.symlink", "sqlite3.connect"})
