"""In which exit status does a code end an evaluation? One table. Rule: evaluation.md §14.

2 the declaration has to be edited, 3 source, evidence or the run itself, 4 contamination or a leak, 5 the candidate's
endpoint, 6 the oracle, 7 files that do not hold or would be overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bfcl.errors import BfclError, ConfigError

DECLARATION: Final = 2
RUN: Final = 3

_BY_STATUS: Final[Mapping[int, tuple[str, ...]]] = {
    DECLARATION: (
        "byob_stage_unsupported",
        "candidate_identity_invalid",
        "candidate_revision_mutable",
        "eval_cli_invalid",
        "eval_config_path_invalid",
        "eval_config_schema_invalid",
        "eval_executable_scoring_policy_unsupported",
        "eval_publication_policy_violation",
        "eval_trace_scoring_policy_unsupported",
        "secret_in_eval_config",
        "unsupported_config_feature",
        "unsupported_eval_mode",
    ),
    RUN: (
        "eval_budget_exhausted",
        "eval_cli_runtime_failed",
        "eval_conversation_script_invalid",
        "eval_executable_aggregation_invalid",
        "eval_executable_evidence_mismatch",
        "eval_executable_unauthorized",
        "eval_nothing_measured",
        "eval_runner_invalid",
        "eval_source_benchmark_hash_mismatch",
        "eval_source_benchmark_schema_mismatch",
        "eval_source_changed_during_eval",
        "eval_source_manifest_drift",
        "eval_source_manifest_invalid",
        "eval_source_oracle_pack_drift",
        "eval_source_oracle_resource_mismatch",
        "eval_source_publication_invalid",
        "eval_source_task_index_invalid",
        "eval_source_translation_lineage_invalid",
        "eval_trace_aggregation_invalid",
        "eval_trace_evidence_mismatch",
    ),
    4: (
        "eval_contamination_candidate_exposed",
        "eval_contamination_empty_task_set",
        "eval_contamination_plan_drift",
        "eval_contamination_task_set_inconsistent",
        "eval_contamination_unresolved",
        "eval_conversation_answer_key_leak",
        "eval_source_model_exposure_invalid",
    ),
    5: (
        "eval_candidate_authentication_failed",
        "eval_candidate_credentials_missing",
        "eval_candidate_provider_extension_invalid",
        "eval_candidate_request_invalid",
        "eval_candidate_retry_exhausted",
    ),
    6: (
        "eval_assertion_infrastructure_failed",
        "eval_oracle_session_failed",
    ),
    7: (
        "eval_artifact_invalid",
        "eval_candidate_cache_conflict",
        "eval_candidate_cache_invalid",
        "eval_cli_artifact_conflict",
        "eval_tool_trace_cache_conflict",
        "eval_tool_trace_cache_invalid",
    ),
}

STATUSES: Final[Mapping[str, int]] = MappingProxyType(
    {code: status for status, codes in _BY_STATUS.items() for code in codes}
)
"""Code to exit status."""


def exit_status(code: str) -> int:
    """The status of a code. What other rooms refuse while an evaluation runs is a failure of the run.

    Raises: LookupError for an `eval_*` code without a row: every code of an evaluation has to say what it is.
    """
    if code.startswith("eval_") and code not in STATUSES:
        raise LookupError(f"`{code}` has no exit status")
    return STATUSES.get(code, RUN)


def exit_status_of(error: BfclError) -> int:
    """The status a refusal ends in: that of its first problem. A refused command line is a declaration, too."""
    first = error.problems[0].code
    if isinstance(error, ConfigError) and first not in STATUSES:
        return DECLARATION
    return exit_status(first)
