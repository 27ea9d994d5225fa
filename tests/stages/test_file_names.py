"""A file that a stage leaves is named once, where the pipeline is described."""

from __future__ import annotations

import ast
from pathlib import Path

import bfcl
from bfcl.stages import STAGES

ROOT = Path(bfcl.__file__).parent


def test_no_other_module_spells_a_stages_file_name() -> None:
    names = {name for stage in STAGES for name in (*stage.writes, *stage.under_policy)}
    found = [
        (path.relative_to(ROOT).as_posix(), node.value)
        for path in sorted(ROOT.rglob("*.py"))
        if path != ROOT / "stages" / "__init__.py"
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []
