"""The report names the policy and its privacy, and stands where it was written."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from bfcl.evaluate.artifacts.names import HELD_OUT_FILE
from bfcl.evaluate.held_out.report import HeldOutReport, write_report
from bfcl.evaluate.score.taxonomy import error_taxonomy_hash
from tests.evaluate.held_out.bench import Bench, told
from tests.evaluate.refusals import refused


def test_report_says_what_it_is_of_and_reserves_nothing_in_words(bench: Bench, report: HeldOutReport) -> None:
    section, seen = bench.settings.held_out, told(report)
    assert section is not None
    assert {name: value for name, value in seen.items() if name not in ("candidates", "tasks")} == {
        "schema_version": "1.1",
        "eval_run_id": "run-1",
        "eval_scope": "trace_and_executable",
        "source_run_id": "trial-1",
        "eval_config_hash": bench.settings.eval_config_hash,
        "scoring_policy_hash": bench.settings.scoring.policy_hash,
        "error_taxonomy_hash": error_taxonomy_hash(),
        "plan_identity": bench.plan.plan_identity,
        "source_verification_identity": bench.verified.verification_identity,
        "policy": {
            "contract_version": "1.0",
            "policy_hash": section.policy_hash,
            "pack_version": "1.0",
            "fixture_ref_count": 1,
            "template_count": 2,
            "seed": 5,
            "max_tasks_per_template": 2,
        },
        "confidence": 0.95,
        "intervals": {"rates": "wilson", "gap": "seen.low - held_out.high to seen.high - held_out.low"},
        "privacy": {
            "task_results_written": False,
            "candidate_responses_cached": False,
            "tool_results_cached": False,
        },
    }


def test_write_report_writes_the_report_and_once_more_the_same(report: HeldOutReport, tmp_path: Path) -> None:
    path = write_report(tmp_path / "out", report)
    written = path.read_bytes()
    assert path == tmp_path / "out" / HELD_OUT_FILE
    assert json.loads(written) == told(report)
    assert write_report(tmp_path / "out", report) == path
    assert path.read_bytes() == written


def test_write_report_refuses_another_report_in_its_place(report: HeldOutReport, tmp_path: Path) -> None:
    path = write_report(tmp_path, report)
    other = dataclasses.replace(report, private_tasks_refused=1)
    assert [str(problem) for problem in refused(lambda: write_report(tmp_path, other))] == [
        f"{path}: eval_artifact_invalid: is not what these answers give; expected the same to the last byte\n"
        "  fix: restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
    ]
