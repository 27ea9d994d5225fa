"""Stages 10 and 11 as parts of a build: there when asked for, gone without a trace when not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from bfcl.errors import ReleaseError
from bfcl.release.verify import verify_release
from tests.packs import ALL_POLICIES
from tests.system.project import SELECTION, Project, run_to_end, write_project

OF_QUALITY = ["surface_quality_rejections.json", "surface_validated_tasks.parquet"]
OF_BALANCING = ["balanced_tasks.parquet", "dedup_balancing_report.json"]


def of_bypassed_stages(project: Project) -> list[str]:
    present = {path.name for path in (project.run_dir / "stage_cache").iterdir()}
    return sorted(present & {*OF_QUALITY, *OF_BALANCING})


def listed(project: Project) -> set[str]:
    return {line.split()[0] for line in project.doit("list").out.splitlines()}


def test_published_rows_stand_by_rank_and_the_release_verifies(selected: Project) -> None:
    assert of_bypassed_stages(selected) == sorted([*OF_QUALITY, *OF_BALANCING])
    manifest = selected.manifest()
    table = pyarrow.parquet.read_table(selected.run_dir / "stage_cache" / "balanced_tasks.parquet").to_pylist()
    ranked = sorted((row["selection_rank"], row["task_id"]) for row in table if row["selected"])
    assert [rank for rank, _ in ranked] == list(range(len(ranked)))
    assert [row["task_id"] for row in selected.rows()] == [task_id for _, task_id in ranked]
    raw = [row["task_id"] for row in selected.rows("benchmark_raw.parquet")]
    assert [row["task_id"] for row in table] == raw
    assert 0 < len(ranked) < len(raw)
    publication = manifest["publication"]["published"]
    assert publication["surface_gate"] == "surface_quality"
    assert (publication["dedup_balancing_applied"], publication["ordering"]) == (True, "selection_rank")
    counts = manifest["stage_counts"]
    assert counts["surface_quality_evaluated"] == counts["surface_quality_kept"] == len(raw)
    assert counts["dedup_balancing_input"] == len(raw)
    assert counts["dedup_balancing_selected"] == counts["published"] == len(ranked)
    assert counts["dedup_balancing_dropped"] == len(raw) - len(ranked)
    assert (manifest["gold_eligible"], manifest["gold_ineligibility_reasons"]) == (True, [])
    assert manifest["semantic_deduplication"]["embedding_signature"].startswith("sha256:")
    verify_release(selected.run_dir)
    assert "up to date" in selected.generate().out


def test_trace_and_build_report_name_the_stage_that_left_a_task_out(selected: Project) -> None:
    table = pyarrow.parquet.read_table(selected.run_dir / "stage_cache" / "balanced_tasks.parquet").to_pylist()
    left_out = next(row for row in table if not row["selected"])
    command = [sys.executable, "-m", "bfcl", "trace", left_out["task_id"], "--format", "json"]
    document = json.loads(run_to_end(command, selected.root, selected.environment()).out)
    (dropped,) = [one for one in document["stages"] if one["stage"] == "dedup_balancing"]
    assert (dropped["outcome"], dropped["reason"]) == ("dropped", left_out["drop_reason"])
    assert dropped["detail"] == f"full: {left_out['balance_dimension']}"
    kept = next(one for one in document["stages"] if one["stage"] == "surface_quality")
    assert (kept["outcome"], kept["detail"]) == ("passed", "kept")


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (
            ("semantic_deduplication", "report", "counts", "selected"),
            99,
            "`semantic_deduplication.report.counts.selected` is 99, expected 12",
        ),
        (
            ("surface_quality_validation", "report", "kept"),
            99,
            "`surface_quality_validation.report.kept` is 99, expected 30",
        ),
        (
            ("publication", "published", "ordering"),
            "raw_order",
            '`publication.published.ordering` is "raw_order", expected "selection_rank"',
        ),
        (
            ("gold_ineligibility_reasons",),
            ["smoke_no_publication"],
            '`gold_ineligibility_reasons` is ["smoke_no_publication"], expected []',
        ),
    ],
)
def test_a_manifest_that_says_otherwise_than_its_reports_does_not_verify(
    selected: Project, tmp_path: Path, place: tuple[str, ...], value: Any, told: str
) -> None:
    project = selected.copy(tmp_path / "project")
    manifest = project.manifest()
    holder = manifest
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = value
    (project.run_dir / "run_manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ReleaseError) as caught:
        verify_release(project.run_dir)
    assert str(caught.value) == (
        f"release_report_mismatch: run_manifest.json: {told}\n"
        "  fix: generate the benchmark again; published files are never edited"
    )


def test_jobs_change_no_byte_of_a_selection(selected: Project, tmp_path: Path) -> None:
    other = write_project(tmp_path / "other", templates=ALL_POLICIES, **SELECTION)
    other.generate("jobs=1")
    assert other.tables() == selected.tables()
    for name in (*OF_QUALITY, *OF_BALANCING):
        assert (other.run_dir / "stage_cache" / name).read_bytes() == (
            selected.run_dir / "stage_cache" / name
        ).read_bytes()


def test_stages_switched_off_leave_no_task_and_no_artifact(selected: Project, tmp_path: Path) -> None:
    project = selected.copy(tmp_path / "project")
    assert {"surface_quality", "dedup_balancing"} <= listed(project)
    project.configure(surface_quality_validation__enabled=True, task_generation__tasks_per_category=8)
    assert "dedup_balancing" not in listed(project)
    project.generate()
    assert of_bypassed_stages(project) == OF_QUALITY
    assert project.manifest()["publication"]["published"]["ordering"] == "raw_order"
    verify_release(project.run_dir)
    project.configure(task_generation__tasks_per_category=8)
    assert not {"surface_quality", "dedup_balancing"} & listed(project)
    project.generate()
    assert of_bypassed_stages(project) == []
    verify_release(project.run_dir)


def test_missed_target_ends_the_run_or_marks_every_row(selected: Project, tmp_path: Path) -> None:
    project = selected.copy(tmp_path / "project")
    project.configure(**{**SELECTION, "task_generation__target_published_tasks": 500})
    ended = project.doit("generate")
    assert ended.status == 1
    (problem,) = ended.blocks
    assert problem.startswith("balancing_targets_unmet: publication_count")
    assert "too few" in problem
    assert project.published() == []
    assert of_bypassed_stages(project) == sorted([*OF_QUALITY, *OF_BALANCING])
    # The stored result is no way round the refusal.
    assert project.doit("generate").blocks == ended.blocks
    settings = {**SELECTION["semantic_deduplication_config"], "unmet_target_policy": "publish_non_gold"}
    project.configure(
        **{**SELECTION, "semantic_deduplication_config": settings, "task_generation__target_published_tasks": 500}
    )
    project.generate()
    manifest = project.manifest()
    assert manifest["gold_eligible"] is False
    assert manifest["gold_ineligibility_reasons"] == ["stage_eleven_unmet_targets"]
    for name in ("benchmark.parquet", "benchmark_raw.parquet"):
        assert {row["gold_eligible"] for row in project.rows(name)} == {False}
    verify_release(project.run_dir)


def test_selection_that_cannot_be_made_leaves_no_report_of_another(selected: Project, tmp_path: Path) -> None:
    project = selected.copy(tmp_path / "project")
    settings = {**SELECTION["semantic_deduplication_config"], "max_rows_per_intent": 1, "max_execution_case_reuse": 1}
    project.configure(**{**SELECTION, "semantic_deduplication_config": settings, "task_generation__max_tool_calls": 1})
    ended = project.doit("generate")
    assert ended.status == 1
    assert {block.partition(":")[0] for block in ended.blocks} <= {"coverage_bucket_emptied", "balancing_infeasible"}
    assert of_bypassed_stages(project) == OF_QUALITY


def test_unknown_finder_is_refused_before_anything_is_computed(fresh: Project) -> None:
    settings = {**SELECTION["semantic_deduplication_config"], "model_identifier": "lexical:char-ngram-v2"}
    fresh.configure(**{**SELECTION, "semantic_deduplication_config": settings})
    ended = fresh.doit("generate")
    assert ended.status == 1
    (problem,) = ended.blocks
    assert problem.startswith("dedup_backend_unavailable: semantic_deduplication_config.model_identifier: no finder")
    assert not (fresh.build / "refs").exists()
