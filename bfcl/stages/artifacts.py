"""What is a run tree made of, and what is each file called in the manifest? Rule: generation.md §6.2, §6.3.

Nothing heavy is imported here: a build with nothing to do reads these names and hashes the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from bfcl.stages import STAGES

MANIFEST_FILE: Final = "run_manifest.json"
RAW_FILE: Final = "benchmark_raw.parquet"
PUBLISHED_FILE: Final = "benchmark.parquet"

SCHEMA_VERSION: Final = "1.1"
"""Of the manifest."""

REPORT_FILE: Final = "oracle_validation_report.json"

NORMALISED: Final = (
    "pack_manifest.json",
    "pack_paths.json",
    "tools_normalized.json",
    "tools_normalized_internal.json",
    "fixtures_normalized.json",
    "task_templates_normalized.yaml",
    "validation_cases_normalized.yaml",
)
"""What `prepare` leaves in `stage_cache/` beside the report; a test holds it against `pack.normalise`."""

NORMALISED_UNDER_POLICY: Final = ("held_out_normalized.json",)
"""What it leaves besides where the pack has a held-out policy."""

UNDER_POLICY: Final = (*NORMALISED_UNDER_POLICY, *(name for stage in STAGES for name in stage.under_policy))
"""Every file of `stage_cache/` that only a run with a held-out policy has."""

STAGE_ARTIFACTS: Final[Mapping[str, str]] = {
    "tools_internal": "stage_cache/tools_normalized_internal.json",
    "tools_model_facing": "stage_cache/tools_normalized.json",
    "oracle_validation_report": f"stage_cache/{REPORT_FILE}",
    "pack_manifest": "stage_cache/pack_manifest.json",
    "fixtures_normalized": "stage_cache/fixtures_normalized.json",
    "task_templates_normalized": "stage_cache/task_templates_normalized.yaml",
    **{PurePosixPath(name).stem: f"stage_cache/{name}" for stage in STAGES for name in stage.writes},
}
"""Name in the manifest's `artifacts` to file in the run tree, for what the stages leave in every run."""

HELD_OUT_ARTIFACTS: Final[Mapping[str, str]] = {
    PurePosixPath(name).stem: f"stage_cache/{name}" for name in UNDER_POLICY
}
"""The same for what they leave besides under a held-out policy."""

ARTIFACT_FILES: Final[Mapping[str, str]] = {
    **STAGE_ARTIFACTS,
    **HELD_OUT_ARTIFACTS,
    "benchmark_raw_parquet": RAW_FILE,
    "benchmark_parquet": PUBLISHED_FILE,
}
"""All of these with the two published tables: every name a manifest may carry."""


def stage_artifacts(under_policy: bool) -> Mapping[str, str]:
    """What the stages of a run leave, with or without a held-out policy."""
    return {**STAGE_ARTIFACTS, **HELD_OUT_ARTIFACTS} if under_policy else STAGE_ARTIFACTS
