"""A built project is made once a session and copied for each test: results are relocatable, so a copy is as good."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packs import ALL_POLICIES
from tests.system.evaluation import Bench, bundled, opened, studio
from tests.system.project import SELECTION, Project, write_project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """A project without `build/`."""
    return write_project(tmp_path / "project")


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project; never to be changed."""
    project = write_project(tmp_path_factory.mktemp("system") / "original")
    project.generate()
    return project


@pytest.fixture
def built(original: Project, tmp_path: Path) -> Project:
    """A published project to do anything to."""
    return original.copy(tmp_path / "project")


@pytest.fixture(scope="session")
def selected(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project that has every stage; never to be changed."""
    project = write_project(tmp_path_factory.mktemp("selected") / "project", templates=ALL_POLICIES, **SELECTION)
    project.generate()
    return project


def _published(factory: pytest.TempPathFactory, name: str, publish: Callable[[Path], None]) -> Path:
    """The root of a project that is published once a session, whichever of its workers comes first."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    root, done = shared / f"{name}-project", shared / f"{name}-done"
    with (shared / f"{name}-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            publish(root)
            done.touch()
    return root


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The smallest bundled pack, published with rows that may be executed; never to be changed."""
    pack, name = "tiny_oracle_pack", "tiny"
    root = _published(tmp_path_factory, "tiny", lambda root: bundled(root, pack, name))
    return opened(Project(root), pack, name)


@pytest.fixture(scope="session")
def banking(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The large bundled pack, the same way."""
    pack, name = "banking_vn_oracle_pack", "banking_vn"
    root = _published(tmp_path_factory, "banking", lambda root: bundled(root, pack, name))
    return opened(Project(root), pack, name)


@pytest.fixture(scope="session")
def kilns(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The test pack, the same way; it has what the bundled ones lack."""
    root = _published(tmp_path_factory, "kilns", studio)
    return opened(Project(root), "studio", "trial")
