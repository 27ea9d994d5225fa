"""What does a manifest have to say of the files beside it? Rule: generation.md §6.2, §6.3.

Each block is made anew of the files that the manifest hashes, by the function that made it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.config.model import TaskGeneration
from bfcl.digest import sha256_of
from bfcl.exports.report import SCHEMA_VERSION as EXPORTS_VERSION
from bfcl.located import parse_json
from bfcl.pack.fingerprint import CONTRACT as FINGERPRINT_CONTRACT
from bfcl.release.chain_claims import Claims, chain_claims
from bfcl.release.decisions import read_decisions
from bfcl.release.read import PublishedTable, Release
from bfcl.stages.artifacts import ARTIFACTS, REPORT_OF_EXPORTS
from bfcl.stages.bias import bias_applicability
from bfcl.stages.gold import gold_ineligibility_reasons
from bfcl.stages.manifest_blocks import (
    BUILD_CONTRACT,
    SEED_DERIVATION,
    count_blocks,
    deduplication_block,
    has_unmet_targets,
    held_out_block,
    publication_block,
    surface_quality_block,
    without_roles,
)
from bfcl.stages.tally import tally
from bfcl.tables.benchmark import BenchmarkInfo, flag_values

CODE: Final = "release_report_mismatch"

BUDGETS: Final = ("tasks_per_category", "candidate_tasks_per_category")

Report = Mapping[str, Json]


class Reports(NamedTuple):
    """The documents beside a release that its manifest restates; None for one that the run does not have."""

    validation: Report
    profile: Report
    surface_quality: Report | None
    balancing: Report | None
    held_out: Report | None
    held_out_scan: Report | None
    exports: Report | None


def read_reports(release: Release) -> Reports:
    """Raises: ReleaseError `release_report_mismatch` where one is no JSON; ValueError where it is no object."""
    return Reports(
        validation=_report(release, "oracle_validation_report"),
        profile=_report(release, "reference_profile"),
        surface_quality=_held(release, "surface_quality", "surface_quality_rejections"),
        balancing=_held(release, "dedup_balancing", "dedup_balancing_report"),
        held_out=_held(release, "held_out", "held_out_normalized"),
        held_out_scan=_held(release, "held_out", "held_out_scan"),
        exports=_held(release, "exports", "export_validation_report"),
    )


def claims(release: Release, published_ids: Collection[str]) -> Claims:
    """Path in the manifest to the value that the files give it; a path of one name is a whole block.

    `published_ids` are those of the published table. Raises: as `read_reports`, `read_decisions`; KeyError, TypeError
    or ValueError where a report lacks what its stage writes.
    """
    reports = read_reports(release)
    counted = tally(read_decisions(release), frozenset(published_ids))  # type: ignore[arg-type]
    blocks: dict[str, Json] = {
        **without_roles(),
        **count_blocks(counted, reports.surface_quality, reports.balancing),
        "surface_quality_validation": surface_quality_block(reports.surface_quality),
        "semantic_deduplication": deduplication_block(reports.balancing),
        "held_out": held_out_block(reports.held_out_scan),
        "publication": publication_block(_info(release.raw), _info(release.published), release.holding),
        "exports": _exports(release, reports.exports),
        "bias_applicability": bias_applicability(
            counted.published_policies, counted.published_with_distractor, _reserved(reports.held_out)
        ),
        "prompt_bundle_hash": _prompt_hash(release),
        "reference_benchmark": _reference(release, reports.profile),
        "bias_targets": _targets(release, reports.balancing),
        "oracle": {"kind": reports.validation["oracle_kind"], "endpoint_metadata": None},
        **_gold(release, reports),
    }
    return {
        **{(name,): block for name, block in blocks.items()},
        **_pack(reports.validation),
        ("seeds", "derivation"): SEED_DERIVATION,
        ("build", "contract"): BUILD_CONTRACT,
        **chain_claims(release.run_dir),
    }


def _pack(validation: Report) -> Claims:
    return {
        ("pack", "pack_id"): validation["pack_id"],
        ("pack", "version"): validation["version"],
        ("pack", "content_hash"): validation["pack_fingerprint"],
        ("pack", "fingerprint_contract"): FINGERPRINT_CONTRACT,
    }


def _gold(release: Release, reports: Reports) -> dict[str, Json]:
    """Tier and reasons. That rows may not call themselves Gold shows a smoke run where nothing else is against it."""
    tier, unmet = reports.validation["tier"], has_unmet_targets(reports.balancing)
    if tier not in ("gold", "silver", "prototype"):
        raise ValueError("a tier that is none")
    gold_rows = flag_values(release.path("published"), "gold_eligible") != {False}
    if gold_rows or (tier == "gold" and not unmet):
        smoke = not gold_rows
    else:
        stated = release.manifest["gold_ineligibility_reasons"]
        smoke = isinstance(stated, list) and "smoke_no_publication" in stated
    policy = "smoke_no_publication" if smoke else "strict_separation"
    reasons = gold_ineligibility_reasons(tier, policy, unmet)  # type: ignore[arg-type]
    return {
        "tier": tier,
        "lineage_policy": policy,
        "gold_ineligibility_reasons": list(reasons),
        "gold_eligible": not reasons,
    }


def _targets(release: Release, balancing: Report | None) -> Json:
    """`bias_targets`; a run without balancing has budgets, which no file shows, and no other target."""
    if balancing is not None:
        return _object(_object(_object(balancing, "lineage"), "settings"), "task_generation")
    stated = release.manifest["bias_targets"]
    given = {name: stated.get(name) for name in BUDGETS} if isinstance(stated, Mapping) else {}
    return {field.name: given.get(field.name) for field in fields(TaskGeneration)}


def _reference(release: Release, profile: Report) -> Json:
    pin = profile["reference_content_hash"]
    if pin is None:
        return None
    stated = release.manifest.get("reference_benchmark")
    named = stated if isinstance(stated, Mapping) else {}
    return {"name": named.get("name"), "samples_path": named.get("samples_path"), "content_hash": pin}


def _prompt_hash(release: Release) -> Json:
    """Of the text that every conversation begins with."""
    first = next(iter(release.rows("published")))["messages"][0]
    return sha256_of((first["content"] or "").encode())


def _exports(release: Release, report: Report | None) -> Json:
    stated = release.manifest["exports"]
    names = _object(stated, "formats") if isinstance(stated, Mapping) else {}
    formats: dict[str, Json] = {name: {"enabled": False} for name in names}
    formats |= {str(entry["format"]): _exported(entry) for entry in _entries(report)}
    return {
        "schema_version": EXPORTS_VERSION,
        "evaluated": report is not None,
        "status": None if report is None else report["status"],
        "benchmark_rows": release.published.rows,
        "benchmark_content_hash": release.published.content_hash,
        "validation_report": None
        if report is None
        else {"path": REPORT_OF_EXPORTS, "content_hash": release.artifacts["export_validation_report"]},
        "formats": formats,
    }


def _exported(entry: Report) -> Json:
    told = {name: entry[name] for name in ("path", "rows", "content_hash", "equivalent")}
    return {"enabled": True, "schema_version": entry["format_schema_version"], **told}


def _entries(report: Report | None) -> Iterator[Report]:
    listed = report["formats"] if report is not None else []
    if not isinstance(listed, list):
        raise ValueError("formats that are no list")
    for entry in listed:
        if not isinstance(entry, Mapping):
            raise ValueError("a format that is no object")
        yield entry


def _reserved(policy: Report | None) -> int | None:
    """How many rows and templates a policy reserves."""
    if policy is None:
        return None
    templates, fixtures = policy["templates"], _object(policy, "fixtures")
    lists = [templates, *fixtures.values()]
    return sum(len(each) if isinstance(each, list) else 0 for each in lists)


def _info(table: PublishedTable) -> BenchmarkInfo:
    return BenchmarkInfo(table.rows, table.content_hash, table.rows_digest)


def _held(release: Release, condition: str, artifact: str) -> Report | None:
    return _report(release, artifact) if condition in release.holding else None


def _report(release: Release, artifact: str) -> Report:
    path = release.run_dir / ARTIFACTS[artifact].file
    value = parse_json(path.read_bytes(), path=str(path), code=CODE).value
    if not isinstance(value, Mapping):
        raise ValueError(f"{artifact} is no object")
    return value


def _object(holder: Report, name: str) -> Report:
    value = holder[name]
    if not isinstance(value, Mapping):
        raise ValueError(f"`{name}` is no object")
    return value
