"""What is made once a session, whichever of its workers comes first, and read by all: results are relocatable."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.project import Project, write_project


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A directory of the session that `make` makes; never to be changed. A name stands for one content everywhere."""
    shared = factory.getbasetemp().resolve()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    # One level deeper, as projects put their temporary files beside them.
    place, done = shared / f"shared-{name}" / "project", shared / f"shared-{name}" / "done"
    place.parent.mkdir(exist_ok=True)
    with (place.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(place)
            done.touch()
    return place


def plain_project(factory: pytest.TempPathFactory) -> Project:
    """The test pack as it is, published; never to be changed."""
    return Project(once(factory, "plain", lambda root: write_project(root).generate(anew=True)))
