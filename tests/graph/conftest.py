"""A pack with its configuration below a temporary project, as doit would find it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.graph.chains import Chain, build
from tests.graph.projects import write_project
from tests.packs import write_config


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """`configs/tiny.yaml` and `packs/studio`; its real path."""
    return write_project(tmp_path.resolve() / "project")


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project published by `doit all`; never to be changed."""
    project = write_project(tmp_path_factory.mktemp("published").resolve() / "project")
    write_config(
        project / "configs" / "tiny.yaml",
        project / "packs" / "studio",
        output_dir="../build/runs",
        oracle_pack__manifest_path="../packs/studio/manifest.yaml",
        oracle_runtime__allowed_roots=["../packs"],
        task_generation__tasks_per_category=4,
    )
    build(project)
    return project


@pytest.fixture
def chain(published: Path, tmp_path: Path) -> Chain:
    """The checkpoints of a published project to do anything to: results are relocatable, so a copy is as good."""
    project = tmp_path.resolve() / "copy"
    shutil.copytree(published, project, copy_function=_linked)
    return Chain(project)


def _linked(source: str, target: str) -> None:
    """Share the files of stored results, which no test writes to; copy the others."""
    if len(Path(source).parent.name) == 64:
        os.link(source, target)
    else:
        shutil.copy2(source, target)
