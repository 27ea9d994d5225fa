"""Chromium without a window: what a page becomes in it, what its console says, and whether it reached for anything."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.system.project import PATIENCE_S

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever should reach for the network all the same finds no host.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """The document a page became, and what the browser's console said of it."""

    dom: str
    console: list[str]

    @property
    def count(self) -> str:
        found: str
        (found,) = re.findall(r'<p id="count"[^>]*>([^<]*)</p>', self.dom)
        return found

    @property
    def tasks(self) -> list[str]:
        """Ids in the list, in order."""
        return re.findall(r'data-task="([^"]*)"', self.dom)

    @property
    def opened(self) -> int:
        return self.dom.count('<div class="task">')


def browse(page: Path, profile: Path, address: str = "", *more: str) -> Shown:
    """Open a page at an address below it, until nothing more happens."""
    assert CHROMIUM is not None
    ended = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *more, "--dump-dom", f"{page.as_uri()}{address}"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    console = [line for line in ended.stderr.decode().splitlines() if ":CONSOLE" in line]
    return Shown(ended.stdout.decode(), console)


def asked(log: Path) -> bool:
    """Whether the browser tried to load what hostile texts name."""
    return "hostile.invalid" in log.read_text(encoding="utf-8", errors="replace")
