"""One finished evaluation for the session, never to be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluate.page.evaluations import evaluate_two


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An executable evaluation of `gold` and `lower`, three trials of every task."""
    return evaluate_two(tmp_path_factory.mktemp("finished"))
