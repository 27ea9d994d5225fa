"""What `run_manifest.json` says: the whole document from one record of inputs. Rule: generation.md §6.3.

What a run does not have appears in its documented off form, so that a reader finds every key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from bfcl.canonical import Json
from bfcl.config.model import RunConfig, SemanticDeduplication
from bfcl.digest import Digest
from bfcl.pack.fingerprint import CONTRACT as FINGERPRINT_CONTRACT
from bfcl.pack.held_out import CONTRACT_VERSION as HELD_OUT_VERSION
from bfcl.pack.held_out import reserved_refs
from bfcl.pack.model import HeldOut, Pack
from bfcl.records.ids import Tier
from bfcl.stages.artifacts import PUBLISHED_FILE, RAW_FILE, SCHEMA_VERSION, Condition, stage_artifacts
from bfcl.stages.bias import bias_applicability
from bfcl.stages.final_output import Ordering, SurfaceGate, Tally, gold_ineligibility_reasons
from bfcl.tables.benchmark import BenchmarkInfo

PUBLICATION_VERSION: Final = "1.0"

SEED_DERIVATION: Final = (
    "first 8 bytes, big-endian unsigned, of sha256 of the canonical JSON of {pack_id, pack_version, template_id, "
    "fixture_refs, slot_bindings, variant_index, global_seed}"
)

_ROLES = ("profile", "paraphrase", "surface_judge")


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
    surface_gate: SurfaceGate
    ordering: Ordering
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
    unmet = inputs.balancing is not None and bool(inputs.balancing["unmet_targets"])
    reasons = gold_ineligibility_reasons(tier, config.lineage.policy, unmet)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": inputs.run_id,
        "created_at": inputs.created_at,
        "oracle_clock": config.oracle_runtime.clock,
        "generation_mode": "template_only",
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
        "profile_influenced_surface": False,
        "judge_advisory": None,
        "models": {role: _role_off() for role in _ROLES},
        "surface_quality_validation": {
            "contract_version": config.surface_quality_validation.contract_version,
            "enabled": inputs.surface_quality is not None,
            "drop_authority": config.surface_quality_validation.drop_authority,
            "report": inputs.surface_quality,
        },
        "semantic_deduplication": _deduplication(config.semantic_deduplication_config, inputs.balancing),
        "seeds": {"global": config.seed, "derivation": SEED_DERIVATION},
        "held_out": _held_out(inputs.pack.held_out, inputs.held_out_scan),
        "publication": _publication(inputs),
        "exports": inputs.exports,
        "bias_targets": asdict(config.task_generation),
        "bias_applicability": bias_applicability(
            inputs.tally.published_policies, inputs.tally.published_with_distractor, _reserved(inputs.pack.held_out)
        ),
        "stage_counts": _stage_counts(inputs),
        "surface_guard_rejections": {"by_template": inputs.tally.guard_rejections},
        "paraphrase_rejections": {
            "requested_candidates": 0,
            "accepted_candidates": 0,
            "rejected_candidates": 0,
            "by_reason": {},
            "by_template": {},
        },
        "trace_drop_rejections": {
            "count": sum(inputs.tally.trace_drops.values()),
            "by_reason": inputs.tally.trace_drops,
        },
        "artifacts": _artifacts(inputs),
        "build": inputs.build,
    }


def _check(inputs: ManifestInputs) -> None:
    wanted = stage_artifacts(inputs.holding).keys()
    if inputs.artifacts.keys() != wanted:
        odd = sorted(inputs.artifacts.keys() ^ wanted)
        raise ValueError(f"artifacts differ from what the stages leave: {', '.join(odd)}")
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


def _role_off() -> Json:
    return {
        "alias": None,
        "provider": None,
        "model_identity": {"source": None, "model": None, "revision": None, "weights_digest": None},
        "canonical_id": None,
        "config_hash": None,
        "enabled": False,
    }


def _held_out(held_out: HeldOut | None, scan: Mapping[str, Json] | None) -> Json:
    if held_out is None:
        return {
            "contract_version": HELD_OUT_VERSION,
            "source": None,
            "evaluated": False,
            "rows_scanned": 0,
            "rows_dropped": 0,
        }
    counts = scan["counts"] if scan is not None else None
    if scan is None or not isinstance(counts, Mapping):
        raise ValueError("a held-out policy whose rows were not scanned")
    return {
        "contract_version": HELD_OUT_VERSION,
        "source": held_out.source,
        "evaluated": True,
        "policy": scan["policy"],
        **{name: counts[name] for name in ("rows_scanned", "rows_hit", "rows_dropped")},
        "stage_four": scan["stage_four"],
    }


def _reserved(held_out: HeldOut | None) -> int | None:
    return None if held_out is None else len(held_out.templates) + len(reserved_refs(held_out))


def _publication(inputs: ManifestInputs) -> Json:
    raw, published = inputs.raw, inputs.published
    return {
        "schema_version": PUBLICATION_VERSION,
        "raw": {
            "file": RAW_FILE,
            "rows": raw.rows,
            "content_hash": raw.content_hash,
            "rows_digest": raw.rows_digest,
            "contains": "schema_valid_and_replay_valid_rows",
        },
        "published": {
            "file": PUBLISHED_FILE,
            "rows": published.rows,
            "content_hash": published.content_hash,
            "rows_digest": published.rows_digest,
            "surface_gate": inputs.surface_gate,
            "dedup_balancing_applied": inputs.balancing is not None,
            "held_out_evaluated": inputs.pack.held_out is not None,
            "ordering": inputs.ordering,
        },
        "restated_fields": [],
        "verified": True,
    }


def _deduplication(settings: SemanticDeduplication, report: Mapping[str, Json] | None) -> Json:
    lineage = report["lineage"] if report is not None else None
    if lineage is not None and not isinstance(lineage, Mapping):
        raise ValueError("a balancing report without its lineage")
    return {
        "contract_version": settings.contract_version,
        "enabled": report is not None,
        "model_identifier": settings.model_identifier if report is not None else None,
        "settings_hash": lineage["settings_hash"] if lineage is not None else None,
        "embedding_signature": lineage["embedding_signature"] if lineage is not None else None,
        "report": report,
    }


def _stage_counts(inputs: ManifestInputs) -> Json:
    tally = inputs.tally
    return {
        "expanded": tally.expanded,
        "canonical_expanded": tally.canonical_expanded,
        "paraphrase_requested": 0,
        "paraphrase_accepted": 0,
        "paraphrase_rejected": 0,
        "surface_passed": tally.surface_passed,
        "trace_derived": tally.trace_derived,
        "trace_dropped": sum(tally.trace_drops.values()),
        "schema_passed": tally.schema_passed,
        "replay_passed": tally.replay_passed,
        **_quality_counts(inputs.surface_quality),
        **_balancing_counts(inputs.balancing),
        "published": tally.published,
    }


def _quality_counts(report: Mapping[str, Json] | None) -> dict[str, Json]:
    if report is None:
        return {}
    errors = report["judge_error_counts"]
    return {
        "surface_quality_evaluated": report["evaluated"],
        "surface_quality_kept": report["kept"],
        "surface_quality_dropped_python": report["dropped_by_python"],
        "surface_quality_dropped_judge": report["dropped_by_surface_judge"],
        "surface_quality_judge_errors": _total(errors),
    }


def _balancing_counts(report: Mapping[str, Json] | None) -> dict[str, Json]:
    if report is None:
        return {}
    counts = report["counts"]
    assert isinstance(counts, Mapping)
    return {
        "dedup_balancing_input": counts["stage_ten_survivors"],
        "dedup_balancing_selected": counts["selected"],
        "dedup_balancing_dropped": counts["dropped"],
        "semantic_duplicates": counts["final_duplicates"],
    }


def _total(counts: Json) -> int:
    assert isinstance(counts, Mapping)
    return sum(count for count in counts.values() if isinstance(count, int))


def _artifacts(inputs: ManifestInputs) -> Json:
    hashes = {
        **inputs.artifacts,
        "benchmark_raw_parquet": inputs.raw.content_hash,
        "benchmark_parquet": inputs.published.content_hash,
    }
    if inputs.export_report is not None:
        hashes["export_validation_report"] = inputs.export_report
    return {name: {"content_hash": content_hash} for name, content_hash in hashes.items()}
