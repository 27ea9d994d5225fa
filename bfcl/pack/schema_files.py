"""Which JSON Schema describes a file that people write, and how does an editor find it? Rule: authoring.md §15.

The loader reads its field sets, types and vocabularies from the very files that `bfcl schema export` writes.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_ROOM: Final = Path(__file__).parent
_FILES: Final[Mapping[str, Path]] = {
    "manifest": _ROOM / "schemas" / "manifest.schema.json",
    "tools": _ROOM / "schemas" / "tools.schema.json",
    "fixtures": _ROOM / "schemas" / "fixtures.schema.json",
    "task_templates": _ROOM / "schemas" / "task_templates.schema.json",
    "validation_cases": _ROOM / "schemas" / "validation_cases.schema.json",
    "held_out": _ROOM / "schemas" / "held_out.schema.json",
    "endpoint_config": _ROOM / "schemas" / "endpoint_config.schema.json",
    "run_config": _ROOM.parent / "config" / "schemas" / "run_config.schema.json",
}

NAMES: Final[tuple[str, ...]] = tuple(_FILES)
"""Every schema, in the order a pack's author meets the files."""

EXPORTED: Final = ".bfcl/schemas"
"""Where scaffolded files look for exported schemas: below the directory that holds the pack, never inside the pack,
whose every file is part of its identity."""


def file_name(name: str) -> str:
    """The name of an exported schema: `<name>.schema.json`."""
    return f"{name}.schema.json"


def schema_bytes(name: str) -> bytes:
    """The schema file as shipped."""
    return _FILES[name].read_bytes()


@functools.cache
def schema(name: str) -> Mapping[str, Any]:
    """The parsed schema called `name`. Raises KeyError where there is none."""
    loaded: Mapping[str, Any] = json.loads(schema_bytes(name))
    return loaded


def modeline(name: str, *, below: str = "..") -> str:
    """The comment line that ties a YAML file to its exported schema, without a line feed.

    Editors resolve a relative path from the file that holds the line. `below` leads from there to the directory under
    which `bfcl schema export --out DIR/.bfcl/schemas` put the schemas: `..` fits the files of a pack.
    """
    return f"# yaml-language-server: $schema={below}/{EXPORTED}/{file_name(name)}"
