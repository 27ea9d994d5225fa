"""What was exported, and does every tree tell its rows? Rule: generation.md §6.3, §7.

`exports/export_validation_report.json`, and the manifest's `exports` block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json, readable_json
from bfcl.digest import Digest, sha256_of
from bfcl.errors import Problem
from bfcl.exports.decode import HASH_MISMATCH
from bfcl.exports.formats import FORMATS
from bfcl.exports.read_back import Tree
from bfcl.stages.artifacts import EXPORT_REPORT, EXPORTS_DIR
from bfcl.tables.benchmark import BenchmarkInfo

SCHEMA_VERSION: Final = "1.0"

_FIX: Final = "read export_validation_report.json, then generate again; never patch an export"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One format as written and as read back."""

    name: str
    schema_version: str
    written_hash: Digest
    """Tree hash of the bytes handed to the disk."""
    tree: Tree
    expected_rows: int

    @property
    def equivalent(self) -> bool:
        """Whether the disk holds what was written, and tells all rows as they are."""
        tree = self.tree
        same = tree.content_hash == self.written_hash and tree.rows == self.expected_rows
        return same and not tree.failures and tree.unreadable is None

    def describe(self) -> dict[str, Json]:
        """What report and manifest both say."""
        return {
            "schema_version": self.schema_version,
            "path": f"{EXPORTS_DIR}/{self.name}",
            "rows": self.tree.rows,
            "content_hash": self.tree.content_hash,
            "equivalent": self.equivalent,
        }

    def problem(self) -> Problem | None:
        """What is wrong with the tree, in a line, or None."""
        if self.equivalent:
            return None
        tree, said = self.tree, []
        if tree.unreadable is not None:
            said.append(f"cannot be read back: {tree.unreadable}")
        if tree.failures:
            first = tree.failures[0]
            field = "" if first.field is None else f" ({first.field})"
            said.append(f"{len(tree.failures)} failures, first {first.reason}{field} of `{first.task_id}`")
        if tree.content_hash != self.written_hash:
            said.append(f"tree hashes to {tree.content_hash}, written was {self.written_hash}")
        if not said:
            said.append(f"tells {tree.rows} rows, expected {self.expected_rows}")
        return Problem(code=HASH_MISMATCH, subject=f"{EXPORTS_DIR}/{self.name}", message="; ".join(said), fix=_FIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOutcome:
    """What a run exported. Whoever publishes raises `problems`; the report outlives a refusal."""

    benchmark_rows: int
    benchmark_content_hash: Digest
    formats: tuple[Exported, ...]
    """In name order."""

    @property
    def problems(self) -> list[Problem]:
        """One for every tree that does not tell its rows."""
        return [problem for each in self.formats if (problem := each.problem())]

    @property
    def status(self) -> str:
        """`passed` or `failed`."""
        return "failed" if self.problems else "passed"

    @property
    def report(self) -> bytes:
        """The bytes of `export_validation_report.json`."""
        return readable_json(
            {
                "schema_version": SCHEMA_VERSION,
                "benchmark_rows": self.benchmark_rows,
                "benchmark_content_hash": self.benchmark_content_hash,
                "formats": [_entry(each) for each in self.formats],
                "status": self.status,
            }
        )


def _entry(exported: Exported) -> dict[str, Json]:
    failures: Sequence[Json] = [failure._asdict() for failure in exported.tree.failures]
    described = exported.describe()
    return {
        **described,
        "schema_version": SCHEMA_VERSION,
        "format": exported.name,
        "format_schema_version": described["schema_version"],
        "failures": failures,
    }


def exports_block(outcome: ExportOutcome | None, published: BenchmarkInfo) -> dict[str, Json]:
    """The manifest's `exports`: every known format, those not asked for as disabled.

    Raises ValueError where the outcome speaks of another table or did not pass: such a run has no manifest.
    """
    formats: dict[str, Json] = {name: {"enabled": False} for name in FORMATS}
    if outcome is not None:
        told = (outcome.benchmark_rows, outcome.benchmark_content_hash)
        if told != (published.rows, published.content_hash) or outcome.problems:
            raise ValueError("exports that did not pass, or of another table")
        formats |= {each.name: {"enabled": True, **each.describe()} for each in outcome.formats}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluated": outcome is not None,
        "status": None if outcome is None else outcome.status,
        "benchmark_rows": published.rows,
        "benchmark_content_hash": published.content_hash,
        "validation_report": None
        if outcome is None
        else {"path": f"{EXPORTS_DIR}/{EXPORT_REPORT}", "content_hash": sha256_of(outcome.report)},
        "formats": formats,
    }
