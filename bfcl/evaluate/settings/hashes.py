"""Which measurement does a configuration describe, wherever its files lie? Rules: evaluation.md §2.1, §17.4.

Optional fields that are not there, or say what goes without saying, leave no trace in what is hashed: a configuration
keeps its hash when a release learns a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.evaluate.settings.model import (
    Candidate,
    ClaimedSource,
    Contamination,
    HeldOutEval,
    Inference,
    Limits,
    Mode,
    Outputs,
    Repeats,
    Scoring,
    SourceOracle,
)
from bfcl.evaluate.settings.publishing import Publication

DEFAULT_LIMIT_FIELD: Final = "max_tokens"
DEFAULT_CONTINUATION: Final = "gold"
REPEATING: Final = "1.3"
"""The schema version from which on `repeats` is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Everything of a configuration that is hashed. `oracle_hashes` are those of pack manifest and resource."""

    version: str
    source: ClaimedSource
    oracle: SourceOracle | None
    oracle_hashes: tuple[Digest, Digest] | None
    modes: tuple[Mode, ...]
    scoring: Scoring
    limits: Limits
    repeats: Repeats
    candidates: tuple[Candidate, ...]
    contamination: Contamination
    outputs: Outputs
    held_out: HeldOutEval | None


def inference_json(inference: Inference) -> dict[str, Json]:
    """How a candidate is asked; `inference_parameters_hash` is of it."""
    told: dict[str, Json] = {
        "temperature": inference.temperature,
        "top_p": inference.top_p,
        "max_tokens": inference.max_tokens,
        "seed": inference.seed,
        "tool_choice": inference.tool_choice,
        "provider_extensions": inference.provider_extensions,
    }
    if inference.max_tokens_field != DEFAULT_LIMIT_FIELD:
        told["max_tokens_field"] = inference.max_tokens_field
    if inference.echo_reasoning is not None:
        told["echo_reasoning"] = inference.echo_reasoning
    return told


def scoring_json(scoring: Scoring) -> dict[str, Json]:
    """The scoring policy without its own hash."""
    told: dict[str, Json] = {
        "contract": {"content_hash": scoring.contract_hash},
        "argument_matching": scoring.argument_matching,
        "insert_declared_defaults": scoring.insert_declared_defaults,
        "respect_call_order": scoring.respect_call_order,
        "respect_call_group": scoring.respect_call_group,
        "allow_llm_repair": scoring.allow_llm_repair,
        "task_success": scoring.task_success,
        "intermediate_text_matching": scoring.intermediate_text_matching,
    }
    if scoring.executable_continuation != DEFAULT_CONTINUATION:
        told["executable_continuation"] = scoring.executable_continuation
    return told


def hash_payload(declared: Declared, publication: Publication) -> dict[str, Json]:
    """What `eval_config_hash` is of: no path, no time, no value of a secret."""
    held_out, contamination, outputs = declared.held_out, declared.contamination, declared.outputs
    told: dict[str, Json] = {
        "schema_version": declared.version,
        "source": _source(declared),
        "eval": {"modes": list(declared.modes)},
        "held_out_eval": None if held_out is None else _held_out(held_out),
        "scoring": scoring_json(declared.scoring),
        "limits": limits_json(declared.limits),
        "candidates": [_candidate(one) for one in by_alias(declared.candidates)],
        "contamination": {
            "enforce": contamination.enforce,
            "on_violation": contamination.on_violation,
            "comparison_set": contamination.comparison_set,
        },
        "publication": {
            "requested": publication.requested,
            "require_same_task_ids": True,
            "allowed": publication.allowed,
            "scope": publication.scope,
        },
        "outputs": {
            "write_task_results": outputs.write_task_results,
            "write_eval_manifest": outputs.write_eval_manifest,
            "cache_candidate_responses": outputs.cache_candidate_responses,
            "cache_tool_results": outputs.cache_tool_results,
        },
    }
    if declared.version == REPEATING:
        repeats = declared.repeats
        told["repeats"] = {"trials": repeats.trials, "seed_policy": repeats.seed_policy}
    return told


def measurement_payload(payload: Mapping[str, Json]) -> dict[str, Json]:
    """A payload without what says where and how fast a model is asked, but not what it is asked."""
    limits, candidates = payload["limits"], payload["candidates"]
    assert isinstance(limits, Mapping)
    assert isinstance(candidates, Sequence)
    return {
        **payload,
        "limits": {key: value for key, value in limits.items() if key != "max_parallel_tasks"},
        "candidates": [
            {key: value for key, value in one.items() if key != "api"} for one in candidates if isinstance(one, Mapping)
        ],
    }


def by_alias(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Candidates in the order in which they are asked and reported."""
    return tuple(sorted(candidates, key=lambda candidate: candidate.alias))


def _source(declared: Declared) -> dict[str, Json]:
    source, oracle = declared.source, None
    if declared.oracle is not None and declared.oracle_hashes is not None:
        pack_manifest, resource = declared.oracle_hashes
        oracle = {
            "kind": declared.oracle.kind,
            "pack_manifest": {"content_hash": pack_manifest},
            "resource": {"content_hash": resource},
        }
    return {
        "run_id": source.run_id,
        "run_manifest": {"content_hash": source.manifest_hash},
        "benchmark": {"content_hash": source.benchmark_hash},
        "benchmark_schema_version": source.benchmark_schema_version,
        "translation_manifest": None,
        "oracle": oracle,
    }


def limits_json(limits: Limits) -> dict[str, Json]:
    """What bounds a run, as every document tells it."""
    return {
        "max_turns": limits.max_turns,
        "max_parallel_tasks": limits.max_parallel_tasks,
        "max_retries": limits.max_retries,
        "tool_timeout_s": limits.tool_timeout_s,
        "candidate_timeout_s": limits.candidate_timeout_s,
        "episode_timeout_s": limits.episode_timeout_s,
    }


def _candidate(candidate: Candidate) -> dict[str, Json]:
    identity = candidate.identity
    return {
        "alias": candidate.alias,
        "model": candidate.model,
        "provider": candidate.provider,
        "provider_api_version": candidate.provider_api_version,
        "api": {"base_url": candidate.base_url, "api_key_env": candidate.api_key_env},
        "model_identity": {
            "source": identity.source,
            "model": identity.model,
            "revision": identity.revision,
            "weights_digest": identity.weights_digest,
        },
        "inference": inference_json(candidate.inference),
        "canonical_id": candidate.canonical_id,
        "assurance": candidate.assurance,
        "inference_parameters_hash": candidate.inference_parameters_hash,
    }


def _held_out(held_out: HeldOutEval) -> dict[str, Json]:
    return {
        "contract_version": held_out.contract_version,
        "policy_hash": held_out.policy_hash,
        "fixture_refs": list(held_out.fixture_refs),
        "template_ids": list(held_out.template_ids),
        "seed": held_out.seed,
        "pack_version": held_out.pack_version,
        "max_tasks_per_template": held_out.max_tasks_per_template,
    }
