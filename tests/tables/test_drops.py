"""Dropped tasks and their reasons, read from real stage tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from bfcl.errors import DriftError
from bfcl.records.surface import Violation
from bfcl.stages import STAGES, stage_named
from bfcl.tables.columns import COLUMNS
from bfcl.tables.drops import VERDICTS, Dropped, Verdicts, read_dropped, read_templates
from tests.cli import runs
from tests.release import samples

BY_STAGE = {verdicts.stage: verdicts for verdicts in VERDICTS}


def dropped(root: Path, stage: str) -> list[Dropped]:
    verdicts: Verdicts = BY_STAGE[stage]
    return list(read_dropped(root / "stage_cache" / table(verdicts), verdicts))


def table(verdicts: Verdicts) -> str:
    return stage_named(verdicts.stage).writes[0]


def test_every_stage_gives_its_own_reasons(tmp_path: Path) -> None:
    one, two = samples.task(1), samples.task(2)
    violations = [
        Violation(guard="must_omit", key="slot", value="bar"),
        Violation(guard="must_state", key="slot", value="x"),
        Violation(guard="must_omit", key="slot", value="y"),
    ]
    edits = {
        "rendered_conversations": samples.surface(two, violations),
        "expected_traces": dataclasses.replace(samples.trace(two), derived=False, drop_reason="no_binding", calls=()),
        "schema_validated_traces": dataclasses.replace(samples.schema(two, valid=False), reject_reason="not_derived"),
        "replay_validated_tasks": samples.replay(two, "schema_invalid"),
    }
    runs.write_run(tmp_path, [runs.records(one), runs.records(two, **edits)])
    assert dropped(tmp_path, "render") == [(two.task_id, "must_omit, must_state")]
    assert dropped(tmp_path, "expected_trace") == [(two.task_id, "no_binding")]
    assert dropped(tmp_path, "schema_validation") == [(two.task_id, "not_derived")]
    assert dropped(tmp_path, "executable_replay") == [(two.task_id, "schema_invalid")]
    tasks = tmp_path / "stage_cache" / "task_instances.parquet"
    assert read_templates(tasks) == {one.task_id: one.template_id, two.task_id: two.template_id}


@pytest.mark.parametrize("verdicts", VERDICTS, ids=lambda each: each.stage)
def test_verdicts_name_stages_and_columns_that_there_are(verdicts: Verdicts) -> None:
    assert {verdicts.passed, verdicts.reason, "task_id"} <= dict(COLUMNS[Path(table(verdicts)).stem]).keys()


def test_verdicts_stand_in_pipeline_order() -> None:
    names = [stage.name for stage in STAGES]
    positions = [names.index(verdicts.stage) for verdicts in VERDICTS]
    assert positions == sorted(positions)


@pytest.mark.parametrize("data", [b"PAR1", None])
def test_damaged_or_missing_table_is_refused_by_name(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "task_instances.parquet"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DriftError) as caught:
        read_templates(path)
    (problem,) = caught.value.problems
    assert (problem.code, problem.subject) == ("table_unreadable", "task_instances.parquet")


def test_table_without_the_column_is_refused(tmp_path: Path) -> None:
    runs.good_run(tmp_path, 1)
    odd = dataclasses.replace(BY_STAGE["render"], passed="derived")
    with pytest.raises(DriftError) as caught:
        list(read_dropped(tmp_path / "stage_cache" / table(odd), odd))
    assert "table_unreadable: rendered_conversations.parquet: cannot be read: " in str(caught.value)
