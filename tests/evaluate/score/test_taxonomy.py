"""The registry of everything a score may say, and its hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args, get_type_hints

from bfcl import canonical
from bfcl.canonical import canonical_text
from bfcl.digest import sha256_json
from bfcl.evaluate import records
from bfcl.evaluate.records import GATES, TRACE_GATES, EpisodeStatus, ExecutionStatus, Resolution
from bfcl.evaluate.score.executable_gates import SUCCESSFUL
from bfcl.evaluate.score.taxonomy import (
    EXECUTABLE_METRICS,
    GATE_REASONS,
    METRIC_REASONS,
    TRACE_METRICS,
    error_taxonomy_hash,
    taxonomy,
)
from bfcl.evaluate.statuses import STATUSES


def told() -> dict[str, object]:
    registry: dict[str, object] = json.loads(canonical_text(taxonomy()))
    return registry


def test_hash_is_of_the_whole_registry() -> None:
    assert error_taxonomy_hash() == sha256_json(taxonomy())


def test_registry_holds_every_status_with_who_answers_for_it() -> None:
    statuses = told()["episode_statuses"]
    assert isinstance(statuses, dict)
    assert set(statuses) == set(get_args(EpisodeStatus))
    assert sorted(status for status, one in statuses.items() if one == "candidate") == [
        "candidate_mismatch",
        "confirmation_not_earned",
        "malformed_response",
        "unusable_tool_call_ids",
    ]
    assert [status for status, one in statuses.items() if one == "success"] == ["completed"]


def test_registry_holds_every_fatal_code_with_its_exit_status() -> None:
    assert told()["fatal_codes"] == dict(STATUSES)


def test_reason_codes_are_unique_and_cover_what_the_records_can_say() -> None:
    codes = [code for gate in GATES for code in GATE_REASONS[gate]]
    assert len(codes) == len(set(codes))
    resolved = get_args(get_type_hints(Resolution, localns=vars(canonical))["status"])
    ran = get_args(ExecutionStatus)
    assert {one for one in codes if one.startswith("executable.dependency.")} == {
        f"executable.dependency.{status}" for status in resolved if status != "resolved"
    }
    assert {one for one in codes if one.startswith("executable.oracle_") and "execution" not in one} == {
        f"executable.oracle_{status}" for status in ran if status not in {*SUCCESSFUL, "not_executed"}
    }
    for gate in TRACE_GATES:
        assert {f"{gate}.matched", f"{gate}.mismatch"} <= set(GATE_REASONS[gate])


def test_gates_that_always_apply_have_no_code_for_not_applying() -> None:
    never = [gate for gate in GATES if any(code.endswith(".not_applicable") for code in GATE_REASONS[gate])]
    assert [gate for gate in GATES if gate not in never] == [
        "tool_selection",
        "trace_completion",
        "executable_completion",
    ]


def test_metrics_and_reasons_are_those_of_the_scoring_contract() -> None:
    contract = json.loads(Path(records.__file__).with_name("scoring_contract.json").read_text(encoding="utf-8"))
    assert contract["metrics"]["trace"] == list(TRACE_METRICS)
    assert contract["metrics"]["executable"] == list(EXECUTABLE_METRICS)
    assert contract["gates"]["trace"] + contract["gates"]["executable"] == list(GATES)
    assert len(METRIC_REASONS) == 12
    assert all(reason.startswith("metric.") for reason in METRIC_REASONS)
