"""A published release, its pack and a scoring configuration on disk, and the one edit that breaks them.

    site.edit_manifest(put(("publication", "verified"), False))
    told(lambda: verify_source(site.settings(), probe_oracle=False))

Settings are made of what lies there when they are asked for: what is edited before is a forgery, what is edited after
is drift.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file, sha256_json, sha256_of
from bfcl.evaluate.settings.model import (
    Candidate,
    ClaimedSource,
    Contamination,
    EvalSettings,
    Identity,
    Limits,
    Outputs,
    Repeats,
    SourceOracle,
)
from bfcl.evaluate.source.exposures import Exposure, Role
from bfcl.tables.benchmark import BenchmarkRow, BenchmarkWriter, read_rows
from tests.evaluate import driven
from tests.evaluate.refusals import refused
from tests.system.project import Project

TABLES = {"raw": "benchmark_raw.parquet", "published": "benchmark.parquet"}
ARTIFACTS = {"raw": "benchmark_raw_parquet", "published": "benchmark_parquet"}
LIMITS = Limits(
    max_turns=12,
    max_parallel_tasks=2,
    max_retries=0,
    tool_timeout_s=10.0,
    candidate_timeout_s=10.0,
    episode_timeout_s=60.0,
)

Data = dict[str, Any]
Edit = Callable[[Data], None]


def put(place: tuple[str, ...], value: Any) -> Edit:
    """Set a value of the manifest."""

    def edit(manifest: Data) -> None:
        holder: Any = manifest
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value

    return edit


def drop(*place: str) -> Edit:
    """Take a key out of the manifest."""

    def edit(manifest: Data) -> None:
        holder: Any = manifest
        for key in place[:-1]:
            holder = holder[key]
        del holder[place[-1]]

    return edit


def candidate(alias: str = "small", *, served: str = "", provider: str = "vendor", **identity: str | None) -> Candidate:
    """A candidate of these weights, served under their name where `served` gives no other one."""
    known: Data = {"source": "hub", "model": f"org/{alias}", "revision": None, "weights_digest": None, **identity}
    pin = known["weights_digest"] or known["revision"]
    return dataclasses.replace(
        driven.candidate(alias),
        model=served or known["model"],
        provider=provider,
        identity=Identity(**known),
        canonical_id=f"{known['source']}:{known['model']}@{pin or 'provider_managed'}",
        assurance="weights_pinned" if pin else "provider_managed",
    )


def role(model: str | None = "org/helper", *, provider: str | None = "vendor", **identity: str | None) -> Data:
    """An enabled role of the manifest's `models`."""
    known: Data = {"source": "hub", "model": model, "revision": None, "weights_digest": None, **identity}
    pin = known["weights_digest"] or known["revision"] or "provider_managed"
    return {
        "alias": "helper",
        "provider": provider,
        "model_identity": known,
        "canonical_id": f"{known['source']}:{model}@{pin}",
        "config_hash": sha256_of(b"role"),
        "enabled": True,
    }


def exposed(role: Role, model: str, task_ids: tuple[str, ...]) -> Exposure:
    """That a model of this name had a hand in these tasks."""
    return Exposure(
        role=role,
        canonical_id=f"hub:{model}@provider_managed",
        provider="vendor",
        source="hub",
        model=model,
        revision=None,
        weights_digest=None,
        task_ids=task_ids,
    )


class Site:
    """`run/`, `packs/studio/` and `contract.json` below `root`; results go to `out/`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @property
    def run_dir(self) -> Path:
        return self.root / "run"

    @property
    def manifest_path(self) -> Path:
        return self.run_dir / "run_manifest.json"

    @property
    def pack(self) -> Path:
        return self.root / "packs" / "studio"

    @property
    def out(self) -> Path:
        return self.root / "out"

    def manifest(self) -> Data:
        return cast("Data", json.loads(self.manifest_path.read_bytes()))

    def edit_manifest(self, *edits: Edit) -> None:
        manifest = self.manifest()
        for edit in edits:
            edit(manifest)
        self.manifest_path.write_bytes(readable_json(manifest))

    def rows(self, table: str = "published") -> list[BenchmarkRow]:
        return list(read_rows(self.run_dir / TABLES[table]))

    def restate(self, table: str) -> None:
        """Make the manifest claim the bytes that now lie there, as a forger would."""
        digest = sha256_file(self.run_dir / TABLES[table])
        self.edit_manifest(
            put(("publication", table, "content_hash"), digest),
            put(("artifacts", ARTIFACTS[table], "content_hash"), digest),
        )
        if table == "published":
            self.edit_manifest(put(("exports", "benchmark_content_hash"), digest))

    def rewrite(self, table: str, rows: Sequence[BenchmarkRow]) -> None:
        """Replace a table and let the manifest vouch for it, row count and digest included."""
        with BenchmarkWriter(self.run_dir / TABLES[table]) as writer:
            writer.write(rows)
            info = writer.close()
        self.restate(table)
        self.edit_manifest(
            put(("publication", table, "rows"), info.rows),
            put(("publication", table, "rows_digest"), info.rows_digest),
        )

    def edit_rows(self, edit: Callable[[Data], Data | None], *, first: int | None = None) -> None:
        """Edit rows of both tables alike, all of them or the `first` ones published; what comes back None is left."""
        chosen = {row["task_id"] for row in self.rows()[:first]}
        for table in TABLES:
            edited = [
                edit(cast("Data", dict(row))) if row["task_id"] in chosen else cast("Data", row)
                for row in self.rows(table)
            ]
            self.rewrite(table, [cast("BenchmarkRow", row) for row in edited if row is not None])

    def settings(self, *candidates: Candidate, trace_only: bool = False, **edits: Any) -> EvalSettings:
        """The settings for what lies there now; `edits` replace fields, `policy` is (on_violation, comparison_set)."""
        manifest = self.manifest()
        contract = self.root / "contract.json"
        on_violation, comparison_set = edits.pop("policy", ("fail_run", "common_intersection"))
        enforce = edits.pop("enforce", True)
        source = ClaimedSource(
            manifest=self.manifest_path,
            manifest_hash=sha256_file(self.manifest_path),
            run_id=manifest["run_id"],
            benchmark=self.run_dir / TABLES["published"],
            benchmark_hash=manifest["artifacts"]["benchmark_parquet"]["content_hash"],
            benchmark_schema_version=manifest["schema_version"],
            lineage_policy=manifest["lineage_policy"],
            gold_eligible=manifest["gold_eligible"],
            oracle_hash=None if trace_only else sha256_file(self.pack / "backend.py"),
        )
        oracle = SourceOracle(
            kind="python", pack_manifest=self.pack / "manifest.yaml", resource=self.pack / "backend.py"
        )
        settings = EvalSettings(
            path=self.root / "eval.yaml",
            schema_version="1.2",
            source=source,
            oracle=None if trace_only else oracle,
            modes=("trace",) if trace_only else ("trace", "executable"),
            scoring=dataclasses.replace(driven.SCORING, contract=contract, contract_hash=sha256_file(contract)),
            limits=LIMITS,
            repeats=Repeats(trials=1, seed_policy="fixed"),
            candidates=tuple(sorted(candidates or (candidate(),), key=lambda one: one.alias)),
            contamination=Contamination(enforce=enforce, on_violation=on_violation, comparison_set=comparison_set),
            publication_requested=False,
            outputs=Outputs(
                output_dir=self.out,
                write_task_results=True,
                write_eval_manifest=True,
                cache_candidate_responses=True,
                cache_tool_results=True,
            ),
            held_out=None,
            publication_allowed=True,
            publication_scope="trace_only" if trace_only else "trace_and_executable",
            non_publication_reasons=(),
            hash_payload={"source": {"translation_manifest": None}},
            eval_config_hash=sha256_json({"trace_only": trace_only}),
            measurement_hash=sha256_of(b"measurement"),
        )
        return dataclasses.replace(settings, **edits)

    def told(self, act: Callable[[], object]) -> list[str]:
        """Every problem of the refusal that `act` ends in as people see it, this directory cut off."""
        return [str(problem).replace(f"{self.root}/", "") for problem in refused(act)]


def site_of(project: Project, root: Path) -> Site:
    """A copy of a project's release and pack."""
    site = Site(root)
    shutil.copytree(project.run_dir, site.run_dir)
    shutil.copytree(project.pack, site.pack)
    (site.root / "contract.json").write_bytes(b"{}\n")
    return site
