from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.digest import sha256_of
from bfcl.evaluate.run.estimate import Estimate
from bfcl.evaluate.run.outcome import CallSources, Completed, Preflight, calls_line, estimate_line, payload_lines

ESTIMATE = Estimate(turns=3, prompt_tokens=120, request_ceiling=9)


def test_completed_run_names_the_files_it_wrote_and_none_it_left_out() -> None:
    completed = Completed(
        eval_run_id="R",
        scope="trace",
        candidates=("a", "b"),
        report_path=Path("/out/eval_report.json"),
        task_results_path=None,
        manifest_path=Path("/out/eval_manifest.json"),
        calls=CallSources(asked=1, taken_over=0, replayed=0),
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


@pytest.mark.parametrize(
    ("asked", "taken_over", "replayed", "line"),
    [
        (8, 0, 0, "calls: 8 asked"),
        (2, 6, 0, "calls: 2 asked, 6 taken over from an earlier run"),
        (0, 8, 0, "calls: none asked, 8 taken over from an earlier run"),
        (0, 0, 0, "calls: none asked"),
        (
            0,
            0,
            8,
            "calls: none asked, 8 replayed from the record in this directory, which a run had finished before",
        ),
    ],
)
def test_calls_line_tells_what_was_paid_for_from_what_was_read(
    asked: int, taken_over: int, replayed: int, line: str
) -> None:
    assert calls_line(CallSources(asked=asked, taken_over=taken_over, replayed=replayed)) == line
