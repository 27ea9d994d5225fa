"""Releases are made once a session and copied for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluate.source.builder import Site, site_of
from tests.packs import ALL_POLICIES, held_out, put
from tests.system.project import SELECTION, Project, write_project
from tests.system.shared import once, plain_project


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project in raw order without anything held out; never to be changed."""
    return plain_project(tmp_path_factory)


@pytest.fixture
def site(release: Project, tmp_path: Path) -> Site:
    """A copy of it to do anything to."""
    return site_of(release, tmp_path / "site")


@pytest.fixture(scope="session")
def chosen_release(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project of which rows were selected and others held out; never to be changed."""
    kiln = {"kiln_id": "K-8", "zone": "attic", "status": "idle", "recent_firings": []}
    reserve = held_out({"kilns": ["K-8"]}, seed=5)

    def publish(root: Path) -> None:
        edits = (put("fixtures.json", ("kilns", "-"), kiln), reserve)
        write_project(root, *edits, templates=ALL_POLICIES, **SELECTION).generate()

    return Project(once(tmp_path_factory, "chosen", publish))


@pytest.fixture
def chosen(chosen_release: Project, tmp_path: Path) -> Site:
    """A copy of it to do anything to."""
    return site_of(chosen_release, tmp_path / "chosen")
