"""Where everything lives on disk. Rule: generation.md §1 (run tree), §9.1 (build tree)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bfcl.stages.artifacts import MANIFEST_FILE, PUBLISHED_FILE, REPORT_FILE, STAGE_ARTIFACTS

REPORT_ARTIFACT = "oracle_validation_report"


@dataclass(frozen=True, slots=True)
class BuildTree:
    """`build/` of a project: disposable but for `runs/`."""

    project: Path

    @property
    def root(self) -> Path:
        return self.project / "build"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def lock(self) -> Path:
        return self.root / ".lock"

    @property
    def validations(self) -> Path:
        """What `doit validate` leaves behind, disposable like the rest."""
        return self.root / "validate"

    def validation(self, pack_id: str) -> ValidationTree:
        """What it leaves behind for one pack."""
        return ValidationTree(self.validations / pack_id)

    def entry(self, fp: str) -> Path:
        """One immutable result."""
        return self.root / fp

    def pointer(self, ck: str, stage: str) -> Path:
        """The doit target of a stage under one configuration."""
        return self.root / "refs" / ck / f"{stage}.json"


@dataclass(frozen=True, slots=True)
class ValidationTree:
    """Report and evidence of a pack's last `doit validate`; nothing else reads them."""

    root: Path

    @property
    def report(self) -> Path:
        return self.root / REPORT_FILE

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"


@dataclass(frozen=True, slots=True)
class RunTree:
    """`output_dir/expt_name`: published files at top, `stage_cache/` below."""

    root: Path

    @property
    def stage_cache(self) -> Path:
        return self.root / "stage_cache"

    @property
    def embedding_cache(self) -> Path:
        """What embedding models answered; appended to, never removed by a run."""
        return self.stage_cache / "embedding_io_cache.jsonl"

    @property
    def lock(self) -> Path:
        return self.root / ".bfcl.lock"

    @property
    def commit_record(self) -> Path:
        return self.root / ".published.json"

    @property
    def manifest(self) -> Path:
        return self.root / MANIFEST_FILE

    @property
    def benchmark(self) -> Path:
        return self.root / PUBLISHED_FILE

    @property
    def report(self) -> Path:
        return self.root / STAGE_ARTIFACTS[REPORT_ARTIFACT].file
