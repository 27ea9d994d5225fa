"""What changed in a directory since it was last looked at, and what did that change in its diagnostics?"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from bfcl.authoring.diagnostics.diagnostic import Checked, Diagnostic
from bfcl.authoring.diagnostics.text import line, summary

Stamp: TypeAlias = tuple[int, int, int]
"""Inode, size in bytes, modification time in nanoseconds."""


def stamps(root: Path) -> Mapping[Path, Stamp]:
    """The stamp of every file below `root`, what lies in hidden directories left out; empty while `root` is away."""
    return dict(_stamps(root))


def _stamps(root: Path) -> Iterator[tuple[Path, Stamp]]:
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return  # an editor or git may replace directories while we look
    for path in entries:
        try:
            found = path.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode):
            if not path.name.startswith("."):
                yield from _stamps(path)
        else:
            yield path, (found.st_ino, found.st_size, found.st_mtime_ns)


class Change(NamedTuple):
    """Diagnostics that went and that came, in the order of their lists."""

    gone: tuple[Diagnostic, ...]
    new: tuple[Diagnostic, ...]


def change(before: Checked, after: Checked) -> Change:
    """What an edit mended and what it broke. A diagnostic that only moved to other lines is neither."""
    old = {_sameness(one) for one in before.diagnostics}
    now = {_sameness(one) for one in after.diagnostics}
    return Change(
        gone=tuple(one for one in before.diagnostics if _sameness(one) not in now),
        new=tuple(one for one in after.diagnostics if _sameness(one) not in old),
    )


def told(before: Checked, after: Checked) -> str:
    """A separator, a line for each diagnostic that went or came, and the summary."""
    changed = change(before, after)
    lines = [SEPARATOR]
    lines += [f"- {line(one)}" for one in changed.gone]
    lines += [f"+ {line(one)}" for one in changed.new]
    return "".join(f"{text}\n" for text in (*lines, summary(after)))


SEPARATOR = "-" * 40


def _sameness(one: Diagnostic) -> tuple[str, str, str | None, str | None]:
    return one.code, one.message, one.path, one.template_id or one.case_id
