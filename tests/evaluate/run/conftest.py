"""One benchmark is published a session and copied for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluate.arena import Arena, published_arena


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    """Never to be changed."""
    return published_arena(tmp_path_factory)


@pytest.fixture
def arena(published: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
    """A copy to do anything to, the current directory."""
    copied = published.copy(tmp_path / "arena")
    monkeypatch.chdir(copied.root)
    return copied
