"""The text of the task file, as far as it can be judged without Inspect."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from bfcl.exports.inspect_ai_task import TASK


def test_task_imports_inspect_and_what_inspect_needs_alone() -> None:
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(TASK))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - set(sys.stdlib_module_names) == {"inspect_ai", "pydantic"}


def test_task_has_the_style_of_the_project(tmp_path: Path) -> None:
    path = tmp_path / "task.py"
    path.write_text(TASK, encoding="utf-8")
    config = Path(__file__).resolve().parents[2] / "pyproject.toml"
    for command in (["check", "--ignore", "ARG,B905"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--config", str(config), "--no-cache", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_task_says_what_it_is_not() -> None:
    words = " ".join((ast.get_docstring(ast.parse(TASK)) or "").split())
    assert "no tool runs and no state is inspected, so another way to the same end counts as wrong" in words
    assert "The success_assertions of a sample are carried along, not evaluated." in words
