"""What is known of a benchmark once it passed its gates, and which values identify it? Rule: evaluation.md §3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.config.model import RunConfig
from bfcl.digest import Digest, sha256_json
from bfcl.evaluate.settings.model import EvalSettings, Mode
from bfcl.evaluate.source.exposures import Exposure
from bfcl.evaluate.source.tables import Tables
from bfcl.exports.row import ExportRow
from bfcl.pack.model import Pack
from bfcl.release.read import Release
from bfcl.stages.artifacts import MANIFEST_FILE

SOURCE_CONTRACT: Final = "bfcl-eval-source/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOracle:
    """The pack that the oracle is made of, as loaded without any override and found to be the release's."""

    pack: Pack
    config: RunConfig
    """How the pack's worlds are started: the release's clock, the evaluation's deadlines. Nothing else of it counts."""
    resource_hash: Digest
    probed: bool
    """Whether its code was imported in a worker and found to expose what it must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedSource:
    """A published benchmark that passed."""

    release: Release
    manifest_hash: Digest
    rows: tuple[ExportRow, ...]
    """The published rows, in publication order."""
    task_ids: tuple[str, ...]
    """Of `rows`."""
    raw_ids: tuple[str, ...]
    files: Mapping[str, Digest]
    """Each file that was relied on, by its path below the run directory, the manifest among them."""
    modes: tuple[Mode, ...]
    oracle: CheckedOracle | None
    """None where the configuration names none."""
    exposures: tuple[Exposure, ...]
    source_identity: Digest
    """Of the benchmark alone: the only value that two evaluations of one benchmark share."""
    verification_identity: Digest
    """The same with the oracle's files, the modes and `eval_config_hash`; never a path or a time."""

    @property
    def manifest(self) -> Mapping[str, Json]:
        """The run manifest."""
        return self.release.manifest

    @property
    def run_dir(self) -> Path:
        """Where the benchmark lies."""
        return self.release.run_dir

    @property
    def run_id(self) -> str:
        """The run that made it."""
        return str(self.manifest["run_id"])

    @property
    def oracle_clock(self) -> str:
        """The instant that the oracle is shown."""
        return str(self.manifest["oracle_clock"])

    @property
    def pack(self) -> Pack | None:
        """The oracle's pack."""
        return None if self.oracle is None else self.oracle.pack

    @property
    def config(self) -> RunConfig | None:
        """How the oracle's worlds are started."""
        return None if self.oracle is None else self.oracle.config


def verified_source(
    settings: EvalSettings,
    release: Release,
    manifest_hash: Digest,
    tables: Tables,
    judged: tuple[CheckedOracle | None, Sequence[Exposure]],
) -> VerifiedSource:
    """Put together what the gates found, with both identities."""
    oracle, exposures = judged
    files = {MANIFEST_FILE: manifest_hash, **tables.files}
    task_ids = tuple(row.task_id for row in tables.rows)
    pack, described = _block(release.manifest["pack"]), _block(release.manifest["oracle"])
    facts: dict[str, Json] = {
        "contract": SOURCE_CONTRACT,
        "run_id": release.manifest["run_id"],
        "files": files,
        "counts": {"raw": len(tables.raw_ids), "published": len(task_ids)},
        "raw_ids_hash": sha256_json(tables.raw_ids),
        "task_ids_hash": sha256_json(task_ids),
        "pack": {name: pack.get(name) for name in ("pack_id", "version", "content_hash")},
        "oracle": {name: described.get(name) for name in ("kind", "endpoint_metadata")},
        "exposures": [exposure.to_json() for exposure in exposures],
    }
    verification: dict[str, Json] = {
        **facts,
        "resolved_oracle": None
        if oracle is None
        else {"pack_fingerprint": oracle.pack.fingerprint, "resource": oracle.resource_hash},
        "modes": settings.modes,
        "eval_config_hash": settings.eval_config_hash,
    }
    return VerifiedSource(
        release=release,
        manifest_hash=manifest_hash,
        rows=tables.rows,
        task_ids=task_ids,
        raw_ids=tables.raw_ids,
        files=files,
        modes=settings.modes,
        oracle=oracle,
        exposures=tuple(exposures),
        source_identity=sha256_json(facts),
        verification_identity=sha256_json(verification),
    )


def _block(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
