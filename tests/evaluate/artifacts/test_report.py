from __future__ import annotations

from pathlib import Path

from bfcl.evaluate.artifacts.report import eval_report
from bfcl.modelio.exchange import ChatRequest
from tests.evaluate.driven import Answer
from tests.evaluate.measuring import measured, result_of, right

KEYS = [
    "candidate_call_failures",
    "candidates",
    "comparison_set",
    "contamination_violations",
    "error_taxonomy_hash",
    "eval_config_hash",
    "eval_run_id",
    "eval_scope",
    "non_publication_reasons",
    "plan_identity",
    "provider_rejections",
    "publication_allowed",
    "schema_version",
    "scopes",
    "source_run_id",
    "source_verification_identity",
]


def test_report_names_what_was_measured_and_both_words_for_its_scope(tmp_path: Path) -> None:
    one, _, _ = measured(tmp_path, right, trials=None)
    result = result_of(tmp_path, one)
    report = eval_report(result)
    assert sorted(report) == KEYS
    assert (report["schema_version"], report["eval_scope"], report["source_run_id"]) == ("1.5", "trace", "kilns-1")
    assert report["publication_allowed"] is False
    assert report["non_publication_reasons"] == ["contamination.unresolved:small"]
    assert report["scopes"] == {
        "eval_scope": {"value": "trace", "meaning": "calls are compared with the recorded ones; nothing is executed"},
        "publication_scope": {
            "value": "trace_and_executable",
            "meaning": "what a published score of scope `trace_and_executable` stands for",
        },
    }
    assert report["provider_rejections"] == report["candidate_call_failures"] == {"small": {}}


def test_repeats_stand_beside_the_first_trial(tmp_path: Path) -> None:
    one, _, _ = measured(tmp_path, right, trials=2)
    report = eval_report(result_of(tmp_path, one))
    assert sorted(report) == sorted([*KEYS, "repeats"])
    repeats = report["repeats"]
    assert isinstance(repeats, dict)
    assert sorted(repeats) == ["candidates", "seed_policy", "trials"]


def test_calls_that_no_attempt_answered_are_told_by_their_code(tmp_path: Path) -> None:
    def answer(_: ChatRequest) -> Answer:
        return "retry_exhausted"

    one, _, _ = measured(tmp_path, answer, trials=None)
    report = eval_report(result_of(tmp_path, one))
    assert report["candidate_call_failures"] == {"small": {"eval_candidate_retry_exhausted": 2}}


def test_refusals_of_the_provider_are_told_by_status(tmp_path: Path) -> None:
    def answer(_: ChatRequest) -> Answer:
        return "provider_rejected"

    one, _, _ = measured(tmp_path, answer, trials=None)
    one.rejections.clear()
    one.rejections.update({"413": 1, "400": 2})
    report = eval_report(result_of(tmp_path, one))
    assert report["provider_rejections"] == {"small": {"400": 2, "413": 1}}
