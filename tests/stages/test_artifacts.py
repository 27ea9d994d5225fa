"""The names a run tree is made of, held against who writes those files."""

from __future__ import annotations

from pathlib import Path

from bfcl.pack.load import load_pack
from bfcl.pack.normalise import normalised
from bfcl.stages.artifacts import CONDITIONAL_FILES, NORMALISED, NORMALISED_UNDER_POLICY
from tests.packs import Edit, held_out, run_config, write_pack


def written(tmp_path: Path, *edits: Edit) -> tuple[str, ...]:
    return tuple(normalised(load_pack(run_config(write_pack(tmp_path / "pack", *edits)), project=tmp_path)))


def test_normalised_copies_are_what_prepare_writes(tmp_path: Path) -> None:
    assert written(tmp_path) == NORMALISED
    assert written(tmp_path, held_out()) == (*NORMALISED, *NORMALISED_UNDER_POLICY)


def test_files_that_not_every_run_has() -> None:
    assert CONDITIONAL_FILES == (
        "held_out_normalized.json",
        "held_out_bindings.json",
        "surface_validated_tasks.parquet",
        "surface_quality_rejections.json",
        "balanced_tasks.parquet",
        "dedup_balancing_report.json",
        "held_out_scan.json",
    )
