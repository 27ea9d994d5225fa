"""What an evaluation tells whoever started it."""

from __future__ import annotations

import json
from pathlib import Path

from bfcl.evaluate.settings.payload import completed_payload, preflight_payload, rendered
from tests.evaluate.settings.builder import beside, loaded, put


def test_preflight_payload_says_what_would_be_run(tmp_path: Path) -> None:
    settings = loaded(tmp_path, beside(alias="a-first"))
    payload = preflight_payload(settings, task_counts={"a-first": 4, "potter": 3}, oracle_probed=True)
    assert rendered(payload, "human").splitlines() == [
        'status: "preflight_passed"',
        'scope: "trace_and_executable"',
        f'eval_config_hash: "{settings.eval_config_hash}"',
        'candidates: ["a-first","potter"]',
        'task_counts: {"a-first":4,"potter":3}',
        "candidate_network_used: false",
        "oracle_probed: true",
    ]


def test_completed_payload_names_the_files_that_were_written(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put(("eval", "mode"), ["trace"]))
    payload = completed_payload(
        settings, eval_run_id="run-1", report=Path("/out/eval_report.json"), task_results=None, manifest=Path("/out/m")
    )
    assert json.loads(rendered(payload, "json")) == {
        "status": "completed",
        "eval_run_id": "run-1",
        "scope": "trace",
        "candidates": ["potter"],
        "report_path": "/out/eval_report.json",
        "task_results_path": None,
        "manifest_path": "/out/m",
    }
