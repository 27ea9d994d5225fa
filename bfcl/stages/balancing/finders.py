"""Which finder does `semantic_deduplication_config.model_identifier` name? Rule: generation.md §3.8, Backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from bfcl.errors import Problem, StageError, did_you_mean
from bfcl.stages.balancing.finder import Finder
from bfcl.stages.balancing.lexical import IDENTIFIER, LexicalFinder

Installed: TypeAlias = Mapping[str, Callable[[str], Finder]]
"""What stands before the colon of an identifier, to what makes a finder of the rest."""

_NOTHING: Final[Installed] = MappingProxyType({})


def finder_for(identifier: str, installed: Installed = _NOTHING) -> Finder:
    """The finder of that name: the built-in lexical one, or one of a kind that is installed.

    Nothing heavy is loaded yet, so a run can ask before its first stage. Never a substitute: raises StageError
    `dedup_backend_unavailable` for a name that nobody answers to, and where the finder's libraries are missing.
    """
    if identifier == IDENTIFIER:
        return LexicalFinder()
    kind, colon, rest = identifier.partition(":")
    if colon and rest and kind in installed:
        return installed[kind](rest)
    known = [IDENTIFIER, *(f"{name}:<model>" for name in sorted(installed))]
    raise StageError(
        Problem(
            code="dedup_backend_unavailable",
            message=f"no finder of near-duplicates answers to `{identifier}`; expected {' or '.join(known)}",
            subject="semantic_deduplication_config.model_identifier",
            fix=did_you_mean(identifier, [IDENTIFIER]) or f"name `{IDENTIFIER}`, or install the finder you mean",
        )
    )
