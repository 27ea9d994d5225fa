"""Are the libraries there that only this page needs?"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from bfcl.errors import ConfigError, Problem, install

NEEDED: Final = ("jinja2", "altair", "vl_convert")
"""What the extra `report` brings, by import name."""


def require_libraries(needed: tuple[str, ...] = NEEDED) -> None:
    """Raise ConfigError `extra_not_installed` naming every library that is missing. Rule: spec README, ruling 9."""
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        listed = ", ".join(missing)
        message = f"the page needs {listed}, which {'is' if len(missing) == 1 else 'are'} not installed"
        raise ConfigError(Problem(code="extra_not_installed", message=message, fix=install("report")))
