"""Every code of an evaluation has one exit status, and the shipped contract tells the rules that the code knows."""

from __future__ import annotations

import ast
import json
import typing

import pytest

from bfcl.errors import BfclError, ConfigError, EvalError, Problem, StageError
from bfcl.evaluate.records import CANDIDATE_STATUSES, GATES, TRACE_GATES, EpisodeStatus, attribution
from bfcl.evaluate.settings.policies import CONTRACT
from bfcl.evaluate.statuses import STATUSES, exit_status, exit_status_of
from tests.test_docs import PACKAGE, codes_in

SPECIFIED = {
    2: "byob_stage_unsupported candidate_identity_invalid candidate_revision_mutable eval_cli_invalid "
    "eval_config_path_invalid eval_config_schema_invalid eval_executable_scoring_policy_unsupported "
    "eval_publication_policy_violation eval_trace_scoring_policy_unsupported secret_in_eval_config "
    "unsupported_config_feature unsupported_eval_mode",
    3: "eval_budget_exhausted eval_cli_runtime_failed eval_conversation_script_invalid eval_runner_invalid "
    "eval_executable_aggregation_invalid eval_executable_evidence_mismatch eval_executable_unauthorized "
    "eval_source_benchmark_hash_mismatch eval_source_benchmark_schema_mismatch eval_source_changed_during_eval "
    "eval_source_manifest_drift eval_source_manifest_invalid eval_source_oracle_pack_drift "
    "eval_source_oracle_resource_mismatch eval_source_publication_invalid eval_source_task_index_invalid "
    "eval_source_translation_lineage_invalid eval_trace_aggregation_invalid eval_trace_evidence_mismatch",
    4: "eval_contamination_candidate_exposed eval_contamination_empty_task_set eval_contamination_plan_drift "
    "eval_contamination_task_set_inconsistent eval_contamination_unresolved eval_conversation_answer_key_leak "
    "eval_source_model_exposure_invalid",
    5: "eval_candidate_authentication_failed eval_candidate_credentials_missing "
    "eval_candidate_provider_extension_invalid eval_candidate_request_invalid eval_candidate_retry_exhausted",
    6: "eval_assertion_infrastructure_failed eval_oracle_session_failed",
    7: "eval_artifact_invalid eval_candidate_cache_conflict eval_candidate_cache_invalid eval_cli_artifact_conflict "
    "eval_tool_trace_cache_conflict eval_tool_trace_cache_invalid",
}


@pytest.mark.parametrize(
    ("code", "status"), [(code, status) for status, codes in SPECIFIED.items() for code in codes.split()]
)
def test_specified_code_has_its_status(code: str, status: int) -> None:
    assert exit_status(code) == status


def test_every_code_that_the_package_can_emit_has_a_status() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    codes = codes_in({path: ast.parse(text) for path, text in texts.items() if '"eval_' in text})
    assert "eval_config_schema_invalid" in codes
    assert sorted(code for code in codes if code.startswith("eval_") and code not in STATUSES) == []


def test_code_of_an_evaluation_without_a_row_is_a_mistake_of_ours() -> None:
    with pytest.raises(LookupError, match="`eval_kiln_cold` has no exit status"):
        exit_status("eval_kiln_cold")


def test_code_of_another_room_is_a_failure_of_the_run() -> None:
    assert exit_status("storage_failed") == 3


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (
            EvalError(
                [Problem(code="eval_artifact_invalid", message="a"), Problem(code="eval_cli_invalid", message="b")]
            ),
            7,
        ),
        (ConfigError(Problem(code="run_not_found", message="a")), 2),
        (StageError(Problem(code="storage_failed", message="a")), 3),
    ],
)
def test_first_problem_decides_the_status(error: BfclError, status: int) -> None:
    assert exit_status_of(error) == status


def test_contract_document_names_the_gates_and_who_answers_for_a_status() -> None:
    contract = json.loads(CONTRACT.read_bytes())
    assert tuple(contract["gates"]["trace"]) == TRACE_GATES
    assert (*contract["gates"]["trace"], *contract["gates"]["executable"]) == GATES
    assert set(contract["attribution"]["candidate"]) == CANDIDATE_STATUSES
    for status in typing.get_args(EpisodeStatus):
        assert status in contract["attribution"][attribution(status)]


def test_contract_document_names_one_rate_per_trace_gate() -> None:
    metrics = json.loads(CONTRACT.read_bytes())["metrics"]
    assert metrics["trace"] == [*(f"{gate}_pass_rate" for gate in TRACE_GATES), "task_success_rate"]
    assert len(metrics["executable"]) == 14
