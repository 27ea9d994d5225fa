"""What does `eval_manifest.json` say, whose presence makes a directory a result? Rule: evaluation.md §11."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.evaluate.artifacts.names import ARTIFACTS
from bfcl.evaluate.artifacts.result import Imported, Result
from bfcl.evaluate.score.taxonomy import error_taxonomy_hash
from bfcl.evaluate.settings.hashes import limits_json
from bfcl.evaluate.settings.model import Candidate
from bfcl.stages.artifacts import MANIFEST_FILE

MANIFEST_VERSION: Final = "1.0"

ORIGIN: Final = ("runtime", "resumed_from")
"""What is told of the run that asked: a replay repeats it and does not put itself in its place."""


def eval_manifest(
    result: Result, artifacts: Mapping[str, Digest], *, runtime: Json, resumed_from: Json
) -> dict[str, Json]:
    """The manifest. `artifacts` are content hashes by name."""
    settings, verified = result.settings, result.verified
    return {
        "schema_version": MANIFEST_VERSION,
        "eval_run_id": result.eval_run_id,
        "eval_scope": result.scope,
        "eval_config_hash": settings.eval_config_hash,
        "measurement_hash": settings.measurement_hash,
        "plan_identity": result.plan.plan_identity,
        "source_identity": verified.source_identity,
        "source_verification_identity": verified.verification_identity,
        "scoring_policy_hash": settings.scoring.policy_hash,
        "scoring_contract_hash": settings.scoring.contract_hash,
        "error_taxonomy_hash": error_taxonomy_hash(),
        "limits": limits_json(settings.limits),
        "repeats": {"trials": settings.repeats.trials, "seed_policy": settings.repeats.seed_policy},
        "source": _source(result),
        "candidates": [_candidate(one.candidate) for one in result.candidates],
        "comparison_set": result.plan.comparison_set.to_json(),
        "candidate_aggregates": {one.candidate.alias: one.aggregate.aggregate_hash for one in result.candidates},
        "artifacts": {
            name: {"file": ARTIFACTS[name], "content_hash": artifacts[name]} for name in ARTIFACTS if name in artifacts
        },
        "publication_allowed": result.publishable,
        "non_publication_reasons": list(result.reasons),
        "runtime": runtime,
        "resumed_from": resumed_from,
    }


def imported_json(imported: Imported | None) -> Json:
    """Where answers came from that were not asked for here."""
    if imported is None:
        return None
    told: dict[str, Json] = {
        "candidate_io_cache": {"content_hash": imported.candidate_io_cache},
        "tool_trace_cache": {"content_hash": imported.tool_trace_cache},
    }
    return told if imported.further is None else {**told, "resumed_from": imported_json(imported.further)}


def _source(result: Result) -> dict[str, Json]:
    verified = result.verified
    oracle = verified.oracle
    return {
        "run_id": verified.run_id,
        "run_manifest": {"content_hash": verified.files[MANIFEST_FILE]},
        "benchmark": {"content_hash": result.settings.source.benchmark_hash},
        "benchmark_schema_version": result.settings.source.benchmark_schema_version,
        "translation_manifest": None,
        "oracle": None
        if oracle is None
        else {
            "pack_fingerprint": oracle.pack.fingerprint,
            "resource": {"content_hash": oracle.resource_hash},
            "clock": verified.oracle_clock,
        },
    }


def _candidate(one: Candidate) -> dict[str, Json]:
    return {
        "alias": one.alias,
        "canonical_id": one.canonical_id,
        "assurance": one.assurance,
        "model": one.model,
        "provider": one.provider,
        "provider_api_version": one.provider_api_version,
        "inference_parameters_hash": one.inference_parameters_hash,
    }
