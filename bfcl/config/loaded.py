"""What does a checked configuration bring along: the typed settings, the text they came from, and where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bfcl.canonical import Json
from bfcl.config.model import RunConfig
from bfcl.located import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """`raw` is the mapping as read; `path` and `project` are absolute; `document` places problems."""

    config: RunConfig
    document: Document = field(repr=False)
    raw: Mapping[str, Json]
    path: Path
    project: Path
