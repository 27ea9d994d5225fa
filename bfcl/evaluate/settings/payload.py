"""What does an evaluation tell whoever started it? Never a credential, never a traceback. Rule: evaluation.md §1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, assert_never

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.settings.envelope import OutputFormat
from bfcl.evaluate.settings.model import EvalSettings


def scope(settings: EvalSettings) -> Literal["trace", "trace_and_executable"]:
    """How a run is scored, in the words of its report."""
    return "trace_and_executable" if settings.executable else "trace"


def preflight_payload(
    settings: EvalSettings, *, task_counts: Mapping[str, int], oracle_probed: bool
) -> dict[str, Json]:
    """A dry run that passed every gate. `task_counts` are by alias."""
    return {
        "status": "preflight_passed",
        "scope": scope(settings),
        "eval_config_hash": settings.eval_config_hash,
        "candidates": [candidate.alias for candidate in settings.candidates],
        "task_counts": dict(task_counts),
        "candidate_network_used": False,
        "oracle_probed": oracle_probed,
    }


def completed_payload(
    settings: EvalSettings, *, eval_run_id: str, report: Path, task_results: Path | None, manifest: Path | None
) -> dict[str, Json]:
    """A finished run; a file that the configuration does not ask for is null."""
    return {
        "status": "completed",
        "eval_run_id": eval_run_id,
        "scope": scope(settings),
        "candidates": [candidate.alias for candidate in settings.candidates],
        "report_path": str(report),
        "task_results_path": None if task_results is None else str(task_results),
        "manifest_path": None if manifest is None else str(manifest),
    }


def rendered(payload: Mapping[str, Json], output_format: OutputFormat) -> str:
    """A payload as it is printed: one key per line with its value as JSON, or one JSON object."""
    match output_format:
        case "human":
            return "\n".join(f"{key}: {canonical_text(value)}" for key, value in payload.items())
        case "json":
            return canonical_text(payload)
    assert_never(output_format)
