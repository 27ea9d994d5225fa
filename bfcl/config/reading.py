"""Is this file a YAML mapping? Nothing more is asked, so that `doit list` may ask it. Rule: generation.md §2.1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bfcl.config.paths import shown_path
from bfcl.config.view import INVALID
from bfcl.errors import BfclError, ConfigError, Problem
from bfcl.located import Document, parse_yaml


def read_bytes(path: Path, project: Path | None) -> bytes:
    """The file's bytes. Raises ConfigError."""
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}; expected a run configuration"
        fix = "name one with `config=PATH`"
        shown = shown_path(path, project)
        raise ConfigError(Problem(code=INVALID, path=shown, message=message, fix=fix)) from None


def parse_config(data: bytes, path: Path, project: Path | None) -> Document:
    """The document of bytes already read. Raises ConfigError."""
    shown = shown_path(path, project)
    try:
        document = parse_yaml(data, path=shown, code=INVALID)
    except BfclError as error:
        raise ConfigError(error.problems) from None
    if not isinstance(document.value, Mapping):
        said = "is empty" if document.value is None else "does not hold a mapping"
        message = f"the file {said}; expected a mapping of settings"
        raise ConfigError(Problem(code=INVALID, path=shown, line=1, message=message))
    return document
