"""What is a run tree made of, and what is each file called in the manifest? Rule: generation.md §6.2, §6.3.

Nothing heavy is imported here: a build with nothing to do reads these names and hashes the files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, Literal, NamedTuple, TypeAlias

from bfcl.stages import STAGES, Stage

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

Condition: TypeAlias = Literal["held_out", "surface_quality", "dedup_balancing", "exports"]
"""What not every run has: a held-out policy, one of the two stages that may be bypassed, exports."""

EXPORTS_DIR: Final = "exports"
EXPORT_REPORT: Final = "export_validation_report.json"
REPORT_OF_EXPORTS: Final = f"{EXPORTS_DIR}/{EXPORT_REPORT}"


class Artifact(NamedTuple):
    """A file of the run tree that the manifest hashes. `needs` holds in every run that has the file."""

    file: str
    needs: frozenset[Condition]


def _left_by(stage: Stage) -> Iterator[tuple[str, Artifact]]:
    bypassed: frozenset[Condition] = frozenset({_CONDITIONS[stage.name]} if stage.switch is not None else ())
    for name in stage.writes:
        yield PurePosixPath(name).stem, Artifact(f"stage_cache/{name}", bypassed)
    for name in stage.under_policy:
        yield PurePosixPath(name).stem, Artifact(f"stage_cache/{name}", bypassed | {"held_out"})


_CONDITIONS: Final[Mapping[str, Condition]] = {
    "surface_quality": "surface_quality",
    "dedup_balancing": "dedup_balancing",
}

STAGE_ARTIFACTS: Final[Mapping[str, Artifact]] = {
    name: Artifact(f"stage_cache/{file}", frozenset())
    for name, file in {
        "tools_internal": "tools_normalized_internal.json",
        "tools_model_facing": "tools_normalized.json",
        "oracle_validation_report": REPORT_FILE,
        "pack_manifest": "pack_manifest.json",
        "fixtures_normalized": "fixtures_normalized.json",
        "task_templates_normalized": "task_templates_normalized.yaml",
    }.items()
} | {
    **{
        PurePosixPath(name).stem: Artifact(f"stage_cache/{name}", frozenset({"held_out"}))
        for name in NORMALISED_UNDER_POLICY
    },
    **dict(pair for stage in STAGES for pair in _left_by(stage)),
}
"""Name in the manifest's `artifacts` to what the stages leave under it."""

ARTIFACTS: Final[Mapping[str, Artifact]] = {
    **STAGE_ARTIFACTS,
    "export_validation_report": Artifact(REPORT_OF_EXPORTS, frozenset({"exports"})),
    "benchmark_raw_parquet": Artifact(RAW_FILE, frozenset()),
    "benchmark_parquet": Artifact(PUBLISHED_FILE, frozenset()),
}
"""All of these with what is published: every name a manifest may carry."""

CONDITIONAL_FILES: Final = tuple(
    PurePosixPath(artifact.file).name for artifact in STAGE_ARTIFACTS.values() if artifact.needs
)
"""Every file of `stage_cache/` that not every run has."""


def stage_artifacts(holding: Collection[Condition]) -> dict[str, str]:
    """What the stages of a run leave, name to file in the run tree, where exactly these conditions hold."""
    return {name: artifact.file for name, artifact in STAGE_ARTIFACTS.items() if artifact.needs <= set(holding)}
