"""The verdict on a small pack, in a form that tests compare as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bfcl.checks.report import as_problem
from bfcl.checks.validate import validate_pack
from bfcl.config.model import RunConfig
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from bfcl.records.verdict import Finding, PackVerdict
from tests.checks.plain_oracle import PlainOracle
from tests.packs import BASE, Edit, run_config, write_pack


class Judged(NamedTuple):
    """A pack, the run it was judged for, and the verdict."""

    pack: Pack
    config: RunConfig
    verdict: PackVerdict

    def failures(self) -> list[str]:
        """`<check> <problem as printed>` of every failure, in report order."""
        return [told(check.id, finding) for check in self.verdict.checks for finding in check.failures]

    def warnings(self) -> list[str]:
        """The same of every warning but one: what the small pack offers never fills a budget of all its templates."""
        found = [told(check.id, finding) for check in self.verdict.checks for finding in check.warnings]
        return [one for one in found if "category_budget_not_reachable: " not in one]

    def statuses(self) -> dict[str, str]:
        """Status by check id."""
        return {check.id: check.status for check in self.verdict.checks}


def told(check: str, finding: Finding) -> str:
    """A finding as a person reads it, led by its check."""
    return f"{check} {as_problem(finding, root='pack')}"


def judge(tmp_path: Path, *edits: Edit, templates: Sequence[str] = BASE, **config: object) -> Judged:
    """Write the small pack with edits, load it and validate it for an edited configuration."""
    root = write_pack(tmp_path / "pack", *edits, templates=templates)
    run = run_config(root, **config)
    pack = load_pack(run, project=tmp_path)
    return Judged(pack, run, validate_pack(pack, run, PlainOracle(pack, run.oracle_runtime.clock)))
