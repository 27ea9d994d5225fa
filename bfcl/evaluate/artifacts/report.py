"""What does `eval_report.json` say? No time and no path, so that the same evidence gives the same bytes. Rule: §11."""

from __future__ import annotations

from typing import Final

from bfcl.canonical import Json
from bfcl.evaluate.artifacts.result import CandidateResult, Result
from bfcl.evaluate.score.aggregate import aggregate_json
from bfcl.evaluate.score.taxonomy import error_taxonomy_hash

REPORT_VERSION: Final = "1.5"
RETRY_EXHAUSTED: Final = "eval_candidate_retry_exhausted"

_SCOPES: Final[dict[str, Json]] = {
    "trace": "calls are compared with the recorded ones; nothing is executed",
    "trace_and_executable": "calls run against the oracle, and every gate of a trace is judged on the same answers",
}
_PUBLICATION_SCOPES: Final[dict[str, Json]] = {
    "trace_only": "what a published score of scope `trace` stands for; never for an executable one",
    "trace_and_executable": "what a published score of scope `trace_and_executable` stands for",
}


def eval_report(result: Result) -> dict[str, Json]:
    """The report. `repeats` is there where the configuration declares them."""
    settings = result.settings
    report: dict[str, Json] = {
        "schema_version": REPORT_VERSION,
        "eval_run_id": result.eval_run_id,
        "eval_scope": result.scope,
        "scopes": {
            "eval_scope": {"value": result.scope, "meaning": _SCOPES[result.scope]},
            "publication_scope": {
                "value": settings.publication_scope,
                "meaning": _PUBLICATION_SCOPES[settings.publication_scope],
            },
        },
        "source_run_id": result.verified.run_id,
        "eval_config_hash": settings.eval_config_hash,
        "error_taxonomy_hash": error_taxonomy_hash(),
        "plan_identity": result.plan.plan_identity,
        "source_verification_identity": result.verified.verification_identity,
        "comparison_set": result.plan.comparison_set.to_json(),
        "candidates": [aggregate_json(one.aggregate) for one in result.candidates],
        "provider_rejections": {one.candidate.alias: _rejections(one) for one in result.candidates},
        "candidate_call_failures": {one.candidate.alias: _failures(one) for one in result.candidates},
        "contamination_violations": [verdict.to_json() for verdict in result.plan.violations],
        "publication_allowed": result.publishable,
        "non_publication_reasons": list(result.reasons),
    }
    repeats: dict[str, Json] = {
        one.candidate.alias: one.repeated.to_json() for one in result.candidates if one.repeated is not None
    }
    if repeats:
        report["repeats"] = {
            "trials": settings.repeats.trials,
            "seed_policy": settings.repeats.seed_policy,
            "candidates": repeats,
        }
    return report


def _failures(one: CandidateResult) -> dict[str, Json]:
    """Calls that no attempt answered, under the code that stands for them."""
    return {RETRY_EXHAUSTED: one.exhausted} if one.exhausted else {}


def _rejections(one: CandidateResult) -> dict[str, Json]:
    """Refusals by HTTP status: many of one status say that requests do not fit the model's window, say."""
    return dict(sorted(one.rejections.items()))
