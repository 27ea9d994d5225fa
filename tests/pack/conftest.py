"""What most tests of the pack room share: run inside a directory, write a pack there, load it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from bfcl.errors import PackError, Problem
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from tests.packs import BASE, Edit, run_config, write_pack

# A shared machine may be slow; a law is not about time.
settings.register_profile("pack", deadline=None)
settings.load_profile("pack")

Load = Callable[..., Pack]
Refused = Callable[..., list[Problem]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, so that messages name files as `pack/<file>`."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def load(home: Path) -> Load:
    """Write the pack with edits and load it; keyword arguments edit the configuration."""

    def run(*edits: Edit, templates: Sequence[str] = BASE, **config: object) -> Pack:
        root = write_pack(home / "pack", *edits, templates=templates)
        return load_pack(run_config(root, **config), project=home)

    return run


@pytest.fixture
def refused(load: Load) -> Refused:
    """Like `load` for a pack that must be refused: its problems."""

    def run(*edits: Edit, templates: Sequence[str] = BASE, **config: object) -> list[Problem]:
        with pytest.raises(PackError) as caught:
            load(*edits, templates=templates, **config)
        return list(caught.value.problems)

    return run
