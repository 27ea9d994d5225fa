from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.authoring.diagnostics.diagnostic import Checked
from bfcl.authoring.static_check import static_check
from tests.packs import ALL_POLICIES, Edit, write_config, write_pack


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Checked]:
    """Check the small pack with edits, as `pack/`; `own` edits give it a validate.yaml."""
    monkeypatch.chdir(tmp_path)

    def run(*edits: Edit, own: dict[str, object] | None = None) -> Checked:
        root = write_pack(tmp_path / "pack", *edits, templates=ALL_POLICIES)
        if own is not None:
            write_config(root / "validate.yaml", root, output_dir="../runs", **own)
        return static_check(Path("pack"))

    return run
