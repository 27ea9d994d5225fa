"""The small pack of `tests.packs` in real worlds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bfcl.oracle.protocol import OracleSpec
from bfcl.oracle.worker import LocalOracle
from tests.packs import ALL_POLICIES, CLOCK, Edit, write_pack


def oracle(root: Path, *edits: Edit, **fields: Any) -> LocalOracle:
    """The worlds of the pack with edits, written below `root`; `fields` replace those of the specification."""
    pack = write_pack(root, *edits, templates=ALL_POLICIES)
    spec = OracleSpec(
        view=str(pack),
        backend=str(pack / "backend.py"),
        assertions=str(pack / "assertions.py"),
        fixtures=(pack / "fixtures.json").read_text(encoding="utf-8"),
        clock=CLOCK,
        tool_timeout_s=20.0,
        assertion_timeout_s=20.0,
        import_timeout_s=60.0,
        reset_timeout_s=20.0,
        episode_timeout_s=60.0,
    )
    return LocalOracle(replace(spec, **fields), jobs=2)
