"""What did a static look at a source package find, and which of it stops the package? Rule: authoring.md §7."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json

Impact: TypeAlias = Literal[
    "blocks_all_probes", "blocks_intake", "blocks_a2", "risks_failure", "weakens_evidence", "unverifiable_statically"
]

BLOCKING: Final = frozenset({"blocks_all_probes", "blocks_intake", "blocks_a2"})

IMPACTS: Final[Mapping[str, Impact]] = {
    "backend_symbol_missing": "blocks_all_probes",
    "published_names_mismatch": "blocks_all_probes",
    "published_names_not_static": "unverifiable_statically",
    "tool_never_named": "risks_failure",
    "review_marker_present": "blocks_intake",
    "collection_too_small": "weakens_evidence",
    "collection_not_rows": "weakens_evidence",
    "fixture_shape_invalid": "blocks_intake",
    "execution_policy_violation": "blocks_all_probes",
    "dynamic_import": "blocks_intake",
    "undeclared_import": "blocks_intake",
    "import_path_ambiguous": "blocks_intake",
    "namespace_package_ambiguous": "blocks_intake",
    "source_path_escape": "blocks_intake",
    "dependency_lock_invalid": "blocks_intake",
    # A lock records what the finished backend imports, so a backend that is still being written may lack one.
    "dependency_lock_missing": "risks_failure",
    "confirmation_parameter_missing": "risks_failure",
}
"""Code to impact: every finding a source package can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFinding:
    """One finding. `file` is relative to the source directory; `line` is 1-based, None where no line is at fault."""

    code: str
    detail: str
    file: str
    line: int | None = None

    @property
    def impact(self) -> Impact:
        return IMPACTS[self.code]

    def document(self) -> dict[str, Json]:
        """`{code, detail, file, impact, line}`."""
        return {
            "code": self.code,
            "detail": self.detail,
            "file": self.file,
            "impact": self.impact,
            "line": self.line,
        }


def in_order(findings: Iterable[SourceFinding]) -> tuple[SourceFinding, ...]:
    """Without doubles, by file, line, code, detail."""
    return tuple(sorted(set(findings), key=lambda one: (one.file, one.line or 0, one.code, one.detail)))


def blocking_codes(findings: Iterable[SourceFinding], *, strict: bool = False) -> tuple[str, ...]:
    """Codes that stop the package, sorted; with `strict` every code does."""
    return tuple(sorted({one.code for one in findings if strict or one.impact in BLOCKING}))
