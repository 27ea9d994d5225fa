"""How doit compares a file with what it saw last: by content, whatever the times say. Rule: generation.md §9.4."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from doit.dependency import FileChangedChecker

from bfcl.digest import blake3_file


class Blake3Checker(FileChangedChecker):  # type: ignore[misc]
    """BLAKE3 of every dependency; doit's own checker trusts an equal modification time."""

    def check_modified(self, file_path: str, file_stat: os.stat_result, state: Any) -> bool:  # noqa: ARG002 doit's signature
        """Whether the content differs from the remembered state."""
        return bool(state != blake3_file(Path(file_path)))

    def get_state(self, dep: str, current_state: Any) -> str:  # noqa: ARG002 doit's signature
        """What to remember of a dependency."""
        return blake3_file(Path(dep))
