"""Other people's packages, each set in an environment of its own, made once and kept between runs of the tests.

The directory lies where temporary files go and is named by what is installed, so that nothing here depends on where the
project is checked out. Removing it is always safe.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

_READY = "ready"


def package_venv(name: str, requirements: Sequence[str]) -> Path:
    """The interpreter of an environment with these requirements; skips the test where no registry can be reached.

    A requirement that a reachable registry does not serve fails the test: only the network excuses.
    """
    text = "\n".join([sys.version, *sorted(requirements)])
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    room = Path(tempfile.gettempdir()) / f"bfcl-test-venvs-{os.getuid()}"
    room.mkdir(mode=0o700, exist_ok=True)
    place = room / f"{name}-{key}"
    python = place / "bin" / "python"
    # Several workers may want the same one.
    with (room / f"{name}-{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / _READY).exists():
            _run(sys.executable, "-m", "venv", "--clear", str(place))
            failure = _installed(python, requirements)
            if failure and not _reachable(python, room):
                pytest.skip("no package registry can be reached")
            assert not failure, failure
            (place / _READY).touch()
    return python


def _installed(python: Path, requirements: Sequence[str]) -> str:
    """Empty once installed, else what pip said."""
    # Compiling everything beforehand takes longer than all the tests that use it.
    done = _pip(python, "install", "--no-compile", *requirements)
    return "" if done.returncode == 0 else done.stderr[-3000:]


def _reachable(python: Path, room: Path) -> bool:
    """Every registry serves pip itself."""
    with tempfile.TemporaryDirectory(dir=room) as directory:
        return _pip(python, "download", "--no-deps", "--no-cache-dir", "--dest", directory, "pip").returncode == 0


def _pip(python: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
    return subprocess.run(
        [python, "-m", "pip", command, *options, *arguments], capture_output=True, text=True, check=False
    )


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=True)
