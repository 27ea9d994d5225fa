"""A built project is made once a session and copied for each test: results are relocatable, so a copy is as good.

Those that others are compared with are built by an interpreter of their own, see `tests.system.forks`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packs import ALL_POLICIES, ROW_LINKS
from tests.system.evaluation import Bench, bundled, opened, studio
from tests.system.project import SELECTION, Project, write_project
from tests.system.shared import once, plain_project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """A project without `build/`."""
    return write_project(tmp_path / "project")


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project; never to be changed."""
    return plain_project(tmp_path_factory)


@pytest.fixture
def built(original: Project, tmp_path: Path) -> Project:
    """A published project to do anything to."""
    return original.copy(tmp_path / "project")


@pytest.fixture(scope="session")
def selected(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project that has every stage; never to be changed."""

    def publish(root: Path) -> None:
        write_project(root, templates=ALL_POLICIES, **SELECTION).generate(anew=True)

    return Project(once(tmp_path_factory, "selected", publish))


@pytest.fixture(scope="session")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A publication with every turn policy and with values of one row; never to be changed."""

    def publish(root: Path) -> None:
        templates = (*ALL_POLICIES, *ROW_LINKS)
        write_project(root, templates=templates, task_generation__tasks_per_category=24).generate(anew=True)

    return Project(once(tmp_path_factory, "policies", publish))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The smallest bundled pack, published with rows that may be executed; never to be changed."""
    pack, name = "tiny_oracle_pack", "tiny"
    root = once(tmp_path_factory, "tiny", lambda root: bundled(root, pack, name))
    return opened(Project(root), pack, name)


@pytest.fixture(scope="session")
def banking(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The large bundled pack, the same way."""
    pack, name = "banking_vn_oracle_pack", "banking_vn"
    root = once(tmp_path_factory, "banking", lambda root: bundled(root, pack, name))
    return opened(Project(root), pack, name)


@pytest.fixture(scope="session")
def kilns(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The test pack, the same way; it has what the bundled ones lack."""
    root = once(tmp_path_factory, "kilns", studio)
    return opened(Project(root), "studio", "trial")
