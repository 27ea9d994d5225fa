"""How a published run directory is opened: its manifest, checked for shape, and its rows. Rule: generation.md §6.

A directory without `run_manifest.json` publishes nothing, whatever lies in it. pyarrow loads only when rows are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.errors import BfclError, Problem, ReleaseError, raise_all
from bfcl.located import Document, parse_json
from bfcl.stages.artifacts import (
    ARTIFACTS,
    EXPORTS_DIR,
    MANIFEST_FILE,
    PUBLISHED_FILE,
    RAW_FILE,
    SCHEMA_VERSION,
    Condition,
)
from bfcl.tables.benchmark import BenchmarkRow, read_rows

TableName = Literal["raw", "published"]

TABLE_ARTIFACTS: Final[Mapping[TableName, str]] = {"raw": "benchmark_raw_parquet", "published": "benchmark_parquet"}
"""Table to its name in the manifest's `artifacts`."""

_REQUIRED: Final[Mapping[str, type]] = {
    "artifacts": dict,
    "bias_applicability": dict,
    "bias_targets": dict,
    "build": dict,
    "created_at": str,
    "exports": dict,
    "generation_config_hash": str,
    "generation_mode": str,
    "gold_eligible": bool,
    "gold_ineligibility_reasons": list,
    "held_out": dict,
    "lineage_policy": str,
    "models": dict,
    "oracle": dict,
    "oracle_clock": str,
    "pack": dict,
    "pipeline_version": str,
    "prompt_bundle_hash": str,
    "publication": dict,
    "resolved_config_hash": str,
    "run_id": str,
    "runtime": dict,
    "schema_version": str,
    "seeds": dict,
    "semantic_deduplication": dict,
    "stage_counts": dict,
    "surface_quality_validation": dict,
    "tier": str,
}
_SWITCHES: Final[Mapping[Condition, tuple[str, str]]] = {
    "held_out": ("held_out", "evaluated"),
    "surface_quality": ("surface_quality_validation", "enabled"),
    "dedup_balancing": ("semantic_deduplication", "enabled"),
    "exports": ("exports", "evaluated"),
}
"""Where a manifest says whether its run had what not every run has."""

_KINDS: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_FIX: Final = "generate the benchmark again; never edit a manifest"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """What the manifest claims of one table."""

    file: str
    rows: int
    content_hash: Digest
    rows_digest: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTree:
    """What the manifest claims of one export: its directory below the run directory, and the hash of that tree."""

    path: str
    content_hash: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A published run directory as its manifest describes it; nothing is verified yet (see `verify`)."""

    run_dir: Path
    manifest: Mapping[str, Json]
    raw: PublishedTable
    published: PublishedTable
    artifacts: Mapping[str, Digest]
    """Artifact name to content hash, names of `ARTIFACTS`."""
    held_out: Mapping[str, Json]
    """The manifest's block of that name; its `evaluated` says whether the pack had a policy."""
    holding: frozenset[Condition]
    """Which parts that not every run has this one has."""
    exports: Mapping[str, ExportedTree]
    """Format to what the manifest claims of it; formats that were not asked for are absent."""

    def path(self, table: TableName) -> Path:
        """Where a table lies."""
        return self.run_dir / self.table(table).file

    def table(self, name: TableName) -> PublishedTable:
        """What the manifest claims of a table."""
        return self.raw if name == "raw" else self.published

    def rows(self, table: TableName = "published") -> Iterator[BenchmarkRow]:
        """Rows in file order. Raises ReleaseError `release_payload_unreadable` on damaged pages."""
        return read_rows(self.path(table))


def open_release(run_dir: Path) -> Release:
    """Read a run directory's manifest.

    Raises: ReleaseError `release_manifest_missing`, or `export_publication_interrupted` where there are payloads;
    `release_manifest_invalid` with every fault of its shape.
    """
    path = run_dir / MANIFEST_FILE
    if path.is_symlink() or not path.is_file():
        raise ReleaseError(_unpublished(run_dir))
    try:
        document = parse_json(path.read_bytes(), path=str(path), code="release_manifest_invalid")
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ReleaseError(Problem(code="release_manifest_invalid", path=str(path), message=message)) from None
    except BfclError as error:
        raise ReleaseError(error.problems) from None
    return _Reader(document).release(run_dir)


def _unpublished(run_dir: Path) -> Problem:
    left = [name for name in (RAW_FILE, PUBLISHED_FILE, EXPORTS_DIR) if os.path.lexists(run_dir / name)]
    if left:
        return Problem(
            code="export_publication_interrupted",
            path=str(run_dir),
            message=f"holds {', '.join(left)} and no {MANIFEST_FILE}, so they are no release: a publication was "
            "interrupted, or somebody deleted the manifest",
            fix="run the same command again: it removes them and publishes a whole release",
        )
    return Problem(
        code="release_manifest_missing",
        path=str(run_dir),
        message=f"holds no {MANIFEST_FILE}, so nothing in it is published",
        fix="run `doit generate`, or name the directory of a finished run",
    )


class _Reader:
    """Turns a manifest document into a `Release`, collecting every fault."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._problems: list[Problem] = []

    def release(self, run_dir: Path) -> Release:
        manifest = self._object(self._document.value, ())
        raise_all(ReleaseError, self._problems)
        version = manifest.get("schema_version")
        if isinstance(version, str) and version != SCHEMA_VERSION:
            self._fault(("schema_version",), f"is {version!r}, this version reads {SCHEMA_VERSION!r}")
        for key, kind in _REQUIRED.items():
            self._typed(manifest, (key,), kind)
        raise_all(ReleaseError, self._problems)
        publication = self._object(manifest["publication"], ("publication",))
        if publication.get("verified") is not True:
            self._fault(("publication", "verified"), "is not true")
        held_out = self._object(manifest["held_out"], ("held_out",))
        holding = frozenset(name for name, place in _SWITCHES.items() if self._switch(manifest, place))
        artifacts = self._artifacts(self._object(manifest["artifacts"], ("artifacts",)), holding)
        exports = self._exports(self._object(manifest["exports"], ("exports",)))
        raw, published = (self._table(publication, name, artifacts) for name in TABLE_ARTIFACTS)
        raise_all(ReleaseError, self._problems)
        return Release(
            run_dir=run_dir,
            manifest=manifest,
            raw=raw,
            published=published,
            artifacts=artifacts,
            held_out=held_out,
            holding=holding,
            exports=exports,
        )

    def _switch(self, manifest: Mapping[str, Json], place: tuple[str, str]) -> bool:
        return self._typed(self._object(manifest[place[0]], place[:1]), place, bool) is True

    def _exports(self, block: Mapping[str, Json]) -> Mapping[str, ExportedTree]:
        formats = self._object(block.get("formats"), ("exports", "formats"))
        found = {}
        for name, value in formats.items():
            place = ("exports", "formats", name)
            entry = self._object(value, place)
            if self._typed(entry, (*place, "enabled"), bool) is not True:
                continue
            if "path" not in entry:
                self._fault((*place, "enabled"), "is true, and no path says where it lies")
                continue
            path = self._typed(entry, (*place, "path"), str)
            if path != f"exports/{name}":
                self._fault((*place, "path"), f"is {path!r}, expected 'exports/{name}'")
            found[name] = ExportedTree(
                path=f"exports/{name}", content_hash=self._digest(entry, (*place, "content_hash"))
            )
        return found

    def _table(
        self, publication: Mapping[str, Json], name: TableName, artifacts: Mapping[str, Digest]
    ) -> PublishedTable:
        place = ("publication", name)
        entry = self._object(publication.get(name), place)
        raise_all(ReleaseError, self._problems)
        file = self._typed(entry, (*place, "file"), str)
        rows = self._typed(entry, (*place, "rows"), int)
        content_hash = self._digest(entry, (*place, "content_hash"))
        digest = self._digest(entry, (*place, "rows_digest"))
        wanted = ARTIFACTS[TABLE_ARTIFACTS[name]].file
        if isinstance(file, str) and file != wanted:
            self._fault((*place, "file"), f"is {file!r}, expected {wanted!r}")
        claimed = artifacts.get(TABLE_ARTIFACTS[name])
        if claimed is not None and claimed != content_hash:
            self._fault(
                (*place, "content_hash"), f"differs from artifacts.{TABLE_ARTIFACTS[name]}.content_hash: {claimed}"
            )
        return PublishedTable(
            file=wanted, rows=rows if isinstance(rows, int) else 0, content_hash=content_hash, rows_digest=digest
        )

    def _artifacts(self, entries: Mapping[str, Json], holding: frozenset[Condition]) -> Mapping[str, Digest]:
        for name, artifact in ARTIFACTS.items():
            lacking = sorted(artifact.needs - holding)
            switch = next((".".join(_SWITCHES[one]) for one in [*lacking, *sorted(artifact.needs)]), None)
            if name not in entries and not lacking:
                self._fault(("artifacts", name), "is missing" + (f", while {switch} is true" if switch else ""))
            if name in entries and lacking:
                self._fault(("artifacts", name), f"is there, while {switch} is false")
        hashes = {}
        for name, entry in entries.items():
            if name not in ARTIFACTS:
                self._fault(("artifacts", name), "is no artifact this version knows")
                continue
            place = ("artifacts", name)
            if isinstance(entry, Mapping):
                hashes[name] = self._digest(entry, (*place, "content_hash"))
            else:
                self._fault(place, "is not an object")
        return hashes

    def _object(self, value: Json, place: tuple[str, ...]) -> Mapping[str, Json]:
        if isinstance(value, Mapping):
            return value
        self._fault(place, "is not an object")
        return {}

    def _typed(self, entry: Mapping[str, Json], place: tuple[str, ...], kind: type) -> Json:
        """The value under the last key of `place`; a boolean is no number."""
        value = entry.get(place[-1])
        if place[-1] not in entry:
            self._fault(place, f"is missing, expected {_KINDS[kind]}")
        elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self._fault(place, f"is not {_KINDS[kind]}")
        return value

    def _digest(self, entry: Mapping[str, Json], place: tuple[str, ...]) -> Digest:
        value = entry.get(place[-1])
        if isinstance(value, str) and _DIGEST.match(value):
            return Digest(value)
        self._fault(place, "is not `sha256:` and 64 hex digits")
        return Digest("")

    def _fault(self, place: tuple[str, ...], what: str) -> None:
        field = ".".join(place)
        self._problems.append(
            Problem(
                code="release_manifest_invalid",
                path=self._document.path,
                line=self._document.line(place),
                field=field,
                message=f"{field or 'the manifest'} {what}",
                fix=_FIX,
            )
        )
