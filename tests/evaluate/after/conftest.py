"""Evaluations are made once a session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.evaluate.after.finishing import Evaluated, evaluated_once


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """A copy of a finished evaluation to do anything to."""

    def copy(directory: Path) -> Path:
        shutil.copytree(directory, tmp_path / directory.name)
        return tmp_path / directory.name

    return copy
