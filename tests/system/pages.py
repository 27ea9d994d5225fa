"""The examples of the documentation: taken out of its pages, written to files, run on a terminal.

A comment right before a fenced block says what the block is: `file: PATH` replaces that file, `append: PATH` adds to
it. Blocks of `sh` are commands, with `exit N` where they end in another status than 0. A block of `text` behind one is
what has to be seen of it: its lines occur in the output in their order, each as a whole line, `...` stands for
anything. What is `shown` is neither run nor written.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.system.project import PATIENCE_S, REPOSITORY

DOCS = REPOSITORY / "docs"
README = REPOSITORY / "README.md"
PACK_PAGES = (
    "manifest",
    "tools",
    "fixtures",
    "task_templates",
    "assertions",
    "backend",
    "validation_cases",
    "held_out",
    "validate",
)
"""The pages of `docs/pack/`, in the order in which their blocks make the example pack."""

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)

_SPACE = {".py": "\n\n", ".yaml": "\n"}
"""What a person leaves between the end of a file and what is added."""


class Block(NamedTuple):
    """One fenced block. `mark` is the word of the comment before it, `name` the rest of that comment."""

    place: str
    mark: str
    name: str
    language: str
    text: str

    @property
    def status(self) -> int:
        """How its commands end."""
        return int(self.name) if self.mark == "exit" else 0

    def write(self, root: Path) -> None:
        """Write it to its file below `root`. Raises AssertionError where it names none."""
        assert self.mark in ("file:", "append:"), f"{self.place}: a block that is neither run nor written"
        path = root / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w" if self.mark == "file:" else "a", encoding="utf-8") as stream:
            stream.write(_SPACE.get(path.suffix, "") * (stream.tell() > 0) + self.text)


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        mark, _, name = (found["mark"] or "").partition(" ")
        yield Block(f"{page.name}:{line}", mark, name, found["language"], found["text"])


def write_documented_pack(root: Path) -> Path:
    """The example pack of `docs/pack/`, from all blocks there that name a file."""
    for name in PACK_PAGES:
        for block in blocks(DOCS / "pack" / f"{name}.md"):
            if block.mark in ("file:", "append:"):
                block.write(root)
    return root


class Shell:
    """A terminal in `directory`; it stays where the last command left it. `private` holds its HOME and programs."""

    def __init__(self, directory: Path, private: Path) -> None:
        self.directory = directory
        self._left_at = private / "directory"
        for program in ("bfcl", "doit"):
            script = private / program
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {program} "$@"\n', encoding="utf-8")
            script.chmod(0o755)
        self._environment = {
            "PATH": f"{private}:{os.environ['PATH']}",
            "HOME": str(private),
            "TMPDIR": str(private),
            "PYTHONPATH": str(REPOSITORY),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "200",
        }

    def run(self, commands: str) -> tuple[int, str]:
        """Status, and what a person saw of both streams."""
        script = f"trap 'pwd > \"{self._left_at}\"' EXIT\n{commands}"
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=self.directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        end_it = threading.Timer(PATIENCE_S, os.killpg, (process.pid, signal.SIGKILL))
        end_it.start()
        try:
            seen = b"".join(_until_closed(ours))
            status = process.wait()
        finally:
            end_it.cancel()
            os.close(ours)
        self.directory = Path(self._left_at.read_text(encoding="utf-8").rstrip("\n"))
        return status, seen.decode("utf-8").replace("\r\n", "\n")


def _until_closed(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:
            # How Linux tells that nobody has the terminal open any more.
            return
        if not data:
            return
        yield data


def first_missing(expected: Sequence[str], seen: Sequence[str]) -> str | None:
    """The first expected line that does not come after the ones before it, or None."""
    rest = iter(seen)
    for line in expected:
        if line.strip() in ("", "..."):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        if not any(pattern.fullmatch(one) for one in rest):
            return line
    return None


def play(page: Path, shell: Shell) -> None:
    """Do everything a page says, in its order. Raises AssertionError where something else is seen."""
    seen = ""
    for block in blocks(page):
        if block.language == "sh":
            status, seen = shell.run(block.text)
            assert status == block.status, f"{block.place}: status {status}\n{seen}"
        elif block.language == "text":
            missing = first_missing(block.text.splitlines(), seen.splitlines())
            assert missing is None, f"{block.place}: not seen: {missing}\n{seen}"
        elif block.mark != "shown":
            block.write(shell.directory)
