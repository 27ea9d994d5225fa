"""doit's own database, made as disposable as it is: it may vanish or break at any time without harm (ruling 13)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Final

from doit.dependency import JSONCodec
from doit.globals import Globals

DATABASE: Final = "build/.doit.db"


class ForgivingCodec(JSONCodec):  # type: ignore[misc]
    """JSON whose unreadable forms mean that nothing is remembered."""

    def decode(self, data: str) -> dict[str, Any]:
        """What is remembered: task name to its values."""
        with contextlib.suppress(ValueError, RecursionError):
            value = super().decode(data)
            if isinstance(value, dict) and all(isinstance(one, dict) for one in value.values()):
                return value
        return {}


def database() -> str:
    """Where doit remembers: nowhere until there is a `build/`, since `doit list` must not make one."""
    path = Path(DATABASE)
    odd = path.exists() and not path.is_file()
    return DATABASE if path.parent.is_dir() and not odd else os.devnull


def remember_this_run() -> None:
    """Give a run its database, on a fresh checkout too; what cannot be written is forgotten."""
    backend = Globals.dep_manager.backend
    original = backend.dump

    def dump() -> None:
        # doit's own clean-up trips over a file that could not be opened.
        with contextlib.suppress(OSError, UnboundLocalError):
            original()

    with contextlib.suppress(OSError):
        Path(DATABASE).parent.mkdir(exist_ok=True)
        backend.name = DATABASE
    backend.dump = dump
