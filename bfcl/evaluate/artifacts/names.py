"""What are the files of a finished evaluation called? Rule: evaluation.md §11."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bfcl.evaluate.drive import tool_trace_cache
from bfcl.modelio import candidate_cache
from bfcl.tables.task_results import TASK_RESULTS_FILE

REPORT: Final = "eval_report.json"
BREAKDOWNS: Final = "eval_breakdowns.json"
MANIFEST: Final = "eval_manifest.json"
HELD_OUT_REPORT: Final = "held_out_eval_report"
HELD_OUT_FILE: Final = "held_out_eval_report.json"
CANDIDATE_CACHE: Final = candidate_cache.FILE
TOOL_TRACE_CACHE: Final = tool_trace_cache.FILE

ARTIFACTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "eval_report": REPORT,
        "eval_breakdowns": BREAKDOWNS,
        "eval_task_results": TASK_RESULTS_FILE,
        "candidate_io_cache": CANDIDATE_CACHE,
        "tool_trace_cache": TOOL_TRACE_CACHE,
        HELD_OUT_REPORT: HELD_OUT_FILE,
    }
)
"""Name in the manifest to file. What says a path or a time is none of them: it is written anew by every run."""

CACHES: Final = ("candidate_io_cache", "tool_trace_cache")

ARTIFACT_INVALID: Final = "eval_artifact_invalid"
CONFLICT: Final = "eval_cli_artifact_conflict"
