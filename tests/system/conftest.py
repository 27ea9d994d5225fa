"""A built project is made once a session and copied for each test: results are relocatable, so a copy is as good."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packs import ALL_POLICIES
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
