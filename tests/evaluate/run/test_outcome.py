from __future__ import annotations

from pathlib import Path

from bfcl.digest import sha256_of
from bfcl.evaluate.run.estimate import Estimate
from bfcl.evaluate.run.outcome import Completed, Preflight, estimate_line, payload_lines

ESTIMATE = Estimate(turns=3, prompt_tokens=120, request_ceiling=9)


def test_completed_run_names_the_files_it_wrote_and_none_it_left_out() -> None:
    completed = Completed(
        eval_run_id="R",
        scope="trace",
        candidates=("a", "b"),
        report_path=Path("/out/eval_report.json"),
        task_results_path=None,
        manifest_path=Path("/out/eval_manifest.json"),
    )
    assert payload_lines(completed.payload(), "human") == [
        'status: "completed"',
        'eval_run_id: "R"',
        'scope: "trace"',
        'candidates: ["a","b"]',
        'report_path: "/out/eval_report.json"',
        "task_results_path: null",
        'manifest_path: "/out/eval_manifest.json"',
    ]


def test_dry_run_is_one_line_for_programs() -> None:
    preflight = Preflight(
        scope="trace_and_executable",
        eval_config_hash=sha256_of(b"config"),
        task_counts={"a": 4},
        oracle_probed=True,
        estimate=ESTIMATE,
        warnings=(),
    )
    assert payload_lines(preflight.payload(), "json") == [
        '{"candidate_network_used":false,"candidates":["a"],"eval_config_hash":"' + sha256_of(b"config") + '",'
        '"oracle_probed":true,"scope":"trace_and_executable","status":"preflight_passed","task_counts":{"a":4}}'
    ]


def test_cost_is_told_in_one_line() -> None:
    assert estimate_line(ESTIMATE) == "estimate: 3 turns, about 120 prompt tokens, never more than 9 requests"
