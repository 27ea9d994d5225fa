"""Where everything lives on disk. Rule: generation.md §1 (run tree), §9.1 (build tree)."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.files import abandoned_siblings
from bfcl.stages.artifacts import MANIFEST_FILE, PUBLISHED_FILE, REPORT_FILE, STAGE_ARTIFACTS

REPORT_ARTIFACT = "oracle_validation_report"

_UNFINISHED: Final = ".tmp-"


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

    def unfinished(self) -> Path:
        """A name that nobody has: of what is about to become a result, and of what is about to be deleted."""
        return self.root / f"{_UNFINISHED}{secrets.token_hex(8)}"

    def leftovers(self) -> Iterator[Path]:
        """What stands under such names, and what was about to become a pointer or the report of a validation.

        All of it is of killed processes where nobody else holds the build lock; validations, which take none, are
        looked at one by one.
        """
        yield from self.root.glob(f"{_UNFINISHED}*")
        for directory in (*self.root.glob("refs/*"), *self.validations.glob("*")):
            yield from abandoned_siblings(directory)

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

    def leftovers(self) -> Iterator[Path]:
        """What was about to become a file of the run when its process was killed; ask under the lock of the run."""
        for directory in (self.root, self.stage_cache):
            yield from abandoned_siblings(directory)

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
