"""The `bfcl` fixture: run a command line in an empty directory, get its status and what it printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bfcl.cli.main import cli
from bfcl.cli.show import run


class Ended(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, the current directory. Its real path, as the kernel tells the current directory."""
    root = (tmp_path / "project").resolve()
    root.mkdir()
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def bfcl(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def call(*arguments: str) -> Ended:
        status = run(cli, arguments, terminal=True)
        printed = capsys.readouterr()
        return Ended(status, printed.out, printed.err)

    return call
