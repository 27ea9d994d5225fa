"""What is a diagnostic: one finding with its place, its weight, and the finding that caused it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class Cause(NamedTuple):
    """Another diagnostic, as one that it caused names it."""

    code: str
    path: str | None
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding. `path` is relative to the current directory where it lies inside; line and column count from 1."""

    severity: Severity
    code: str
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    fix: str | None = None
    check: str | None = None
    """Id of the check that makes it; None for what stops the pack from loading."""
    pointer: str | None = None
    """JSON pointer into the file."""
    template_id: str | None = None
    case_id: str | None = None
    tool: str | None = None
    because: Cause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Everything found in one pack, by file, line and column."""

    pack: str
    """The pack's directory, as its author named it."""
    loads: bool
    """Whether the pack could be loaded; where not, only what its readable files allow was judged."""
    diagnostics: tuple[Diagnostic, ...]

    def count(self, severity: Severity) -> int:
        """How many diagnostics weigh that much."""
        return sum(one.severity == severity for one in self.diagnostics)

    @property
    def clean(self) -> bool:
        """Whether no error was found; warnings do not count."""
        return self.count("error") == 0


def in_file_order(diagnostics: Sequence[Diagnostic], files: Sequence[str]) -> tuple[Diagnostic, ...]:
    """By file as `files` orders them (others after these, by name), then line, column and code."""
    rank = {path: index for index, path in enumerate(files)}

    def key(one: Diagnostic) -> tuple[int, str, int, int, str, str]:
        path = one.path or ""
        return rank.get(path, len(rank)), path, one.line or 0, one.column or 0, one.code, one.message

    return tuple(sorted(diagnostics, key=key))
