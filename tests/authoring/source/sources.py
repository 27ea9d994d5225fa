"""A small good source package for tests; a broken one is it plus the files that differ.

tree = write_source(tmp_path, {"backend.py": BACKEND + "import os\\n", "fixtures.json": None})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bfcl.authoring.source.check import SourceVerdict, check_source
from bfcl.authoring.source.tree import SourceTree

CATALOG: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_kiln",
            "description": "Look up one kiln.",
            "parameters": {"type": "object", "properties": {"kiln_id": {"type": "string"}}, "required": ["kiln_id"]},
        },
    },
]

BACKEND = """\
import copy

ROWS = {}


def list_tools():
    return ["get_kiln"]


def reset(*, ctx, fixtures=None):
    ROWS.update(copy.deepcopy(fixtures or {}))


def call_tool(name, arguments, *, ctx):
    return {"kilns": ROWS.get("kilns", [])}


def get_state():
    return copy.deepcopy(ROWS)
"""
"""19 lines: what a test appends starts at line 20."""

FILES: Mapping[str, str] = {
    "backend.py": BACKEND,
    "tools.json": json.dumps(CATALOG),
    "fixtures.json": json.dumps({"kilns": [{"kiln_id": "K-1"}, {"kiln_id": "K-2"}]}),
    "dependency-lock.json": json.dumps({"schema_version": "bfcl-python-dependency-lock-v1", "dependencies": []}),
}


def write_source(root: Path, files: Mapping[str, str | bytes | None] | None = None) -> SourceTree:
    """Write the good package with other or further files (None: leave it out) below `root/source`."""
    directory = root / "source"
    for name, content in {**FILES, **(files or {})}.items():
        if content is not None:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return SourceTree(root=directory, label="source")


def checked(
    root: Path, files: Mapping[str, str | bytes | None] | None = None, *, strict: bool = False
) -> SourceVerdict:
    return check_source(write_source(root, files), strict=strict)


def told(verdict: SourceVerdict) -> list[str]:
    """Every finding as `file:line: code (impact): detail`."""
    return [
        f"{one.file}{'' if one.line is None else f':{one.line}'}: {one.code} ({one.impact}): {one.detail}"
        for one in verdict.findings
    ]
