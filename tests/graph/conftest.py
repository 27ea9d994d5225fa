"""A pack with its configuration below a temporary project, as doit would find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.projects import write_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """`configs/tiny.yaml` and `packs/studio`; its real path."""
    return write_project(tmp_path.resolve() / "project")
