"""Which blocks of a manifest say again what stands in the files beside it? Rule: generation.md §6.3.

Who writes a manifest and who verifies one make them with the same functions, so that nothing is restated unheld.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from bfcl.canonical import Json
from bfcl.pack.held_out import CONTRACT_VERSION as HELD_OUT_VERSION
from bfcl.records.quality import CONTRACT_VERSION as QUALITY_VERSION
from bfcl.stages.artifacts import PUBLISHED_FILE, RAW_FILE, Condition
from bfcl.stages.balancing.report import CONTRACT_VERSION as BALANCING_VERSION
from bfcl.stages.publication_plan import surface_gate
from bfcl.stages.tally import Tally
from bfcl.tables.benchmark import BenchmarkInfo

PUBLICATION_VERSION: Final = "1.0"
BUILD_CONTRACT: Final = "bfcl-build/1"

SEED_DERIVATION: Final = (
    "first 8 bytes, big-endian unsigned, of sha256 of the canonical JSON of {pack_id, pack_version, template_id, "
    "fixture_refs, slot_bindings, variant_index, global_seed}"
)

_ROLES: Final = ("profile", "paraphrase", "surface_judge")

Report = Mapping[str, Json]


def without_roles() -> dict[str, Json]:
    """What a manifest says of the model roles where none is on; no run of this version has any."""
    return {
        "generation_mode": "template_only",
        "profile_influenced_surface": False,
        "judge_advisory": None,
        "models": {role: _role_off() for role in _ROLES},
        "paraphrase_rejections": {
            "requested_candidates": 0,
            "accepted_candidates": 0,
            "rejected_candidates": 0,
            "by_reason": {},
            "by_template": {},
        },
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


def count_blocks(tally: Tally, surface_quality: Report | None, balancing: Report | None) -> dict[str, Json]:
    """What every stage let through, and why the rest was lost; a report is None where its stage was bypassed."""
    dropped = sum(tally.trace_drops.values())
    return {
        "stage_counts": {
            "expanded": tally.expanded,
            "canonical_expanded": tally.canonical_expanded,
            "paraphrase_requested": 0,
            "paraphrase_accepted": 0,
            "paraphrase_rejected": 0,
            "surface_passed": tally.surface_passed,
            "trace_derived": tally.trace_derived,
            "trace_dropped": dropped,
            "schema_passed": tally.schema_passed,
            "replay_passed": tally.replay_passed,
            **_quality_counts(surface_quality),
            **_balancing_counts(balancing),
            "published": tally.published,
        },
        "surface_guard_rejections": {"by_template": tally.guard_rejections},
        "trace_drop_rejections": {"count": dropped, "by_reason": tally.trace_drops},
    }


def _quality_counts(report: Report | None) -> dict[str, Json]:
    if report is None:
        return {}
    return {
        "surface_quality_evaluated": report["evaluated"],
        "surface_quality_kept": report["kept"],
        "surface_quality_dropped_python": report["dropped_by_python"],
        "surface_quality_dropped_judge": report["dropped_by_surface_judge"],
        "surface_quality_judge_errors": _total(_object(report, "judge_error_counts")),
    }


def _balancing_counts(report: Report | None) -> dict[str, Json]:
    if report is None:
        return {}
    counts = _object(report, "counts")
    return {
        "dedup_balancing_input": counts["stage_ten_survivors"],
        "dedup_balancing_selected": counts["selected"],
        "dedup_balancing_dropped": counts["dropped"],
        "semantic_duplicates": counts["final_duplicates"],
    }


def _total(counts: Report) -> int:
    return sum(count for count in counts.values() if isinstance(count, int))


def surface_quality_block(report: Report | None) -> Json:
    """`surface_quality_validation`, of `surface_quality_rejections.json`."""
    judged = report is not None and report["judge_enabled"] is True
    return {
        "contract_version": QUALITY_VERSION,
        "enabled": report is not None,
        # Whoever may drop does not only advise, and without a judge nobody may.
        "drop_authority": judged and report is not None and report["judge_advisory"] is False,
        "report": report,
    }


def deduplication_block(report: Report | None) -> Json:
    """`semantic_deduplication`, of `dedup_balancing_report.json`."""
    lineage = _object(report, "lineage") if report is not None else None
    settings = _object(_object(lineage, "settings"), "semantic_deduplication_config") if lineage is not None else None
    return {
        "contract_version": BALANCING_VERSION,
        "enabled": report is not None,
        "model_identifier": settings["model_identifier"] if settings is not None else None,
        "settings_hash": lineage["settings_hash"] if lineage is not None else None,
        "embedding_signature": lineage["embedding_signature"] if lineage is not None else None,
        "report": report,
    }


def has_unmet_targets(report: Report | None) -> bool:
    """Whether balancing missed a target and the run was published all the same."""
    return report is not None and bool(report["unmet_targets"])


def held_out_block(scan: Report | None) -> Json:
    """`held_out`, of `held_out_scan.json`; None where the pack has no policy."""
    if scan is None:
        return {
            "contract_version": HELD_OUT_VERSION,
            "source": None,
            "evaluated": False,
            "rows_scanned": 0,
            "rows_dropped": 0,
        }
    counts, policy = _object(scan, "counts"), _object(scan, "policy")
    return {
        "contract_version": HELD_OUT_VERSION,
        "source": policy["source"],
        "evaluated": True,
        "policy": policy,
        **{name: counts[name] for name in ("rows_scanned", "rows_hit", "rows_dropped")},
        "stage_four": scan["stage_four"],
    }


def publication_block(raw: BenchmarkInfo, published: BenchmarkInfo, holding: Collection[Condition]) -> Json:
    """`publication`: what both tables are, and which stages decided about rows and order."""
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
            "surface_gate": surface_gate(judged="surface_quality" in holding),
            "dedup_balancing_applied": "dedup_balancing" in holding,
            "held_out_evaluated": "held_out" in holding,
            "ordering": "selection_rank" if "dedup_balancing" in holding else "raw_order",
        },
        "restated_fields": [],
        "verified": True,
    }


def _object(holder: Report, name: str) -> Report:
    """Raises ValueError where a report is not as its stage writes it."""
    value = holder[name]
    if not isinstance(value, Mapping):
        raise ValueError(f"`{name}` of a report is no object")
    return value
