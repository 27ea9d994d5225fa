"""What `run_manifest.json` says: the whole document from one record of inputs. Rule: generation.md §6.3.

What a run does not have appears in its documented off form, so that a reader finds every key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from bfcl.canonical import Json
from bfcl.config.model import RunConfig
from bfcl.digest import Digest
from bfcl.pack.fingerprint import CONTRACT as FINGERPRINT_CONTRACT
from bfcl.pack.held_out import reserved_refs
from bfcl.pack.model import HeldOut, Pack
from bfcl.records.ids import Tier
from bfcl.stages.artifacts import SCHEMA_VERSION, Condition, stage_artifacts
from bfcl.stages.bias import bias_applicability
from bfcl.stages.gold import gold_ineligibility_reasons
from bfcl.stages.manifest_blocks import (
    SEED_DERIVATION,
    count_blocks,
    deduplication_block,
    has_unmet_targets,
    held_out_block,
    publication_block,
    surface_quality_block,
    without_roles,
)
from bfcl.stages.tally import Tally
from bfcl.tables.benchmark import BenchmarkInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Where a release was made. None means unknown."""

    python: str
    platform: str
    machine: str
    pyarrow: str
    isolation: Json
    """The level the oracle's worlds reached."""
    pipeline_git_sha: str | None = None
    pipeline_git_dirty: bool | None = None
    pipeline_source_hash: str | None = None
    dependency_lock_hash: str | None = None
    worker_image_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestInputs:
    """Everything a manifest is made of. Clock, randomness and the machine are read by the caller."""

    run_id: str
    created_at: str
    pipeline_version: str
    generation_config_hash: Digest
    resolved_config_hash: Digest
    runtime: Runtime
    config: RunConfig
    reference_samples: str | None = None
    """Portable path of the reference samples, where the configuration names any."""
    pack: Pack
    tier: Tier
    prompt_bundle_hash: Digest
    tally: Tally
    raw: BenchmarkInfo
    published: BenchmarkInfo
    artifacts: Mapping[str, Digest]
    """Exactly the names of `stage_artifacts`."""
    holding: frozenset[Condition]
    """Which parts that not every run has this one has."""
    surface_quality: Mapping[str, Json] | None = None
    """`surface_quality_rejections.json`; None exactly where the stage was bypassed."""
    balancing: Mapping[str, Json] | None = None
    """`dedup_balancing_report.json`; None exactly where the stage was bypassed."""
    exports: Mapping[str, Json]
    """The block of that name, as `exports.report.exports_block` gives it."""
    export_report: Digest | None = None
    """Of `export_validation_report.json`; None exactly where nothing was exported."""
    held_out_scan: Mapping[str, Json] | None = None
    """`held_out_scan.json`; None exactly where the pack has no held-out policy."""
    build: Mapping[str, Json]
    """`{contract, publication_key, stages}`. Rule: generation.md §9.7."""


def run_id(expt_name: str, moment: datetime, system_prompt_id: str, token: str) -> str:
    """`<expt_name>-<UTC moment>-<12 hex of the prompt id>-<token>`; `moment` is aware and in UTC, `token` 32 hex."""
    prompt = system_prompt_id.removeprefix("sha256:")[:12]
    return f"{expt_name}-{moment:%Y%m%dT%H%M%S%f}Z-{prompt}-{token}"


def run_manifest(inputs: ManifestInputs) -> dict[str, Json]:
    """The manifest, ready for `readable_json`.

    Raises ValueError where `artifacts` is not exactly what the stages leave, or the counts contradict the tables.
    """
    _check(inputs)
    config, tier = inputs.config, inputs.tier
    reasons = gold_ineligibility_reasons(tier, config.lineage.policy, has_unmet_targets(inputs.balancing))
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": inputs.run_id,
        "created_at": inputs.created_at,
        "oracle_clock": config.oracle_runtime.clock,
        "pipeline_version": inputs.pipeline_version,
        "generation_config_hash": inputs.generation_config_hash,
        "resolved_config_hash": inputs.resolved_config_hash,
        "runtime": asdict(inputs.runtime),
        "pack": _pack(inputs.pack),
        "oracle": {"kind": "python", "endpoint_metadata": None},
        "reference_benchmark": _reference(inputs),
        "prompt_bundle_hash": inputs.prompt_bundle_hash,
        "tier": tier,
        "gold_eligible": not reasons,
        "gold_ineligibility_reasons": reasons,
        "lineage_policy": config.lineage.policy,
        **without_roles(),
        "surface_quality_validation": surface_quality_block(inputs.surface_quality),
        "semantic_deduplication": deduplication_block(inputs.balancing),
        "seeds": {"global": config.seed, "derivation": SEED_DERIVATION},
        "held_out": held_out_block(inputs.held_out_scan),
        "publication": publication_block(inputs.raw, inputs.published, inputs.holding),
        "exports": inputs.exports,
        "bias_targets": asdict(config.task_generation),
        "bias_applicability": bias_applicability(
            inputs.tally.published_policies, inputs.tally.published_with_distractor, _reserved(inputs.pack.held_out)
        ),
        **count_blocks(inputs.tally, inputs.surface_quality, inputs.balancing),
        "artifacts": _artifacts(inputs),
        "build": inputs.build,
    }


def _check(inputs: ManifestInputs) -> None:
    wanted = stage_artifacts(inputs.holding).keys()
    if inputs.artifacts.keys() != wanted:
        odd = sorted(inputs.artifacts.keys() ^ wanted)
        raise ValueError(f"artifacts differ from what the stages leave: {', '.join(odd)}")
    if (inputs.pack.held_out is None) != (inputs.held_out_scan is None):
        raise ValueError("a held-out policy whose rows were not scanned, or a scan without one")
    if (inputs.raw.rows, inputs.published.rows) != (inputs.tally.replay_passed, inputs.tally.published):
        raise ValueError(
            f"tables hold {inputs.raw.rows} and {inputs.published.rows} rows, "
            f"decisions count {inputs.tally.replay_passed} and {inputs.tally.published}"
        )


def _pack(pack: Pack) -> Json:
    return {
        "pack_id": pack.manifest.pack_id,
        "version": pack.manifest.version,
        "content_hash": pack.fingerprint,
        "fingerprint_contract": FINGERPRINT_CONTRACT,
        "files": dict(pack.entries),
    }


def _reference(inputs: ManifestInputs) -> Json:
    reference = inputs.config.reference_benchmark
    if reference is None:
        return None
    return {
        "name": reference.name,
        "samples_path": inputs.reference_samples,
        "content_hash": reference.content_hash,
    }


def _reserved(held_out: HeldOut | None) -> int | None:
    return None if held_out is None else len(held_out.templates) + len(reserved_refs(held_out))


def _artifacts(inputs: ManifestInputs) -> Json:
    hashes = {
        **inputs.artifacts,
        "benchmark_raw_parquet": inputs.raw.content_hash,
        "benchmark_parquet": inputs.published.content_hash,
    }
    if inputs.export_report is not None:
        hashes["export_validation_report"] = inputs.export_report
    return {name: {"content_hash": content_hash} for name, content_hash in hashes.items()}
