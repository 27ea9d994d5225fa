"""`bfcl trace` of a template: how each of its tasks ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.records.surface import Violation
from tests.cli import runs
from tests.cli.conftest import Ended
from tests.release import samples

Command = Callable[..., Ended]

ONE, TWO, THREE = (f"plant__read_then_set__000000000000000{number}" for number in (1, 2, 3))


@pytest.fixture
def run(project: Path) -> Path:
    return project / "build" / "runs" / "demo"


def _lossy(number: int) -> dict[str, Any]:
    """A task whose wording breaks a guard and whose replay failed as well: only the first counts."""
    task = samples.task(number)
    broken = samples.surface(task, [Violation(guard="must_omit", key="slot", value="bar")])
    failed = samples.replay(task, "assertion_failed")
    return runs.records(task, rendered_conversations=broken, replay_validated_tasks=failed)


def test_template_lists_how_each_of_its_tasks_ended(bfcl: Command, run: Path) -> None:
    samples.published(run, 3, rejected=(2,))
    runs.write_run(run, [runs.records(samples.task(1)), _lossy(2), runs.records(samples.task(3))])
    text = f"""\
template   read_then_set
run        build/runs/demo

tasks
  {ONE}  published
  {TWO}  dropped by render: must_omit
  {THREE}  published

3 tasks: 2 published, 1 dropped by render: must_omit
"""
    assert bfcl("trace", "read_then_set", "--format", "text") == (0, text, "")
    assert bfcl("trace", "plant__read_then_set", "--format", "text") == (0, text, "")


def test_template_as_json_has_stage_outcome_and_reason_of_each_task(bfcl: Command, run: Path) -> None:
    samples.published(run, 2, rejected=())
    third = runs.records(samples.task(3))
    runs.write_run(run, [runs.records(samples.task(1)), _lossy(2), third])
    runs.good_run(run.with_name("other"))
    said = bfcl("trace", "read_then_set", "--json")
    assert (said.status, said.err) == (0, "")
    assert json.loads(said.out) == {
        "schema_version": "1.0",
        "run": "build/runs/demo",
        "also_in": ["build/runs/other"],
        "template_id": "read_then_set",
        "outcomes": {"published": 1, "dropped": 2},
        "tasks": [
            {"task_id": ONE, "stage": "final_output", "outcome": "published", "reason": None},
            {"task_id": TWO, "stage": "render", "outcome": "dropped", "reason": "must_omit"},
            {"task_id": THREE, "stage": "final_output", "outcome": "dropped", "reason": "not_in_raw"},
        ],
    }


def test_raw_task_that_no_stage_dropped_was_not_selected(bfcl: Command, run: Path) -> None:
    samples.published(run, 2, rejected=(2,))
    runs.good_run(run, 2)
    assert f"  {TWO}  dropped by final_output: not_selected\n" in bfcl("trace", "read_then_set", "--format", "text").out


def test_task_of_an_unfinished_run_is_told_with_the_last_stage_that_has_it(bfcl: Command, run: Path) -> None:
    tasks = [
        runs.records(samples.task(1)),
        _lossy(2),
        runs.records(samples.task(3), expected_traces=None, schema_validated_traces=None),
    ]
    runs.write_run(run, tasks, without=("replay_validated_tasks",))
    said = bfcl("trace", "read_then_set", "--format", "text")
    assert said.out.splitlines()[4:] == [
        f"  {ONE}  not dropped so far, last in schema_validation",
        f"  {TWO}  dropped by render: must_omit",
        f"  {THREE}  not dropped so far, last in render",
        "",
        "3 tasks: 1 not dropped so far, last in schema_validation, 1 dropped by render: must_omit, "
        "1 not dropped so far, last in render",
    ]


def test_single_task_of_a_template_is_followed_by_pack_and_template_and_listed_by_the_template(
    bfcl: Command, run: Path
) -> None:
    runs.good_run(run, 1)
    assert bfcl("trace", "plant__read_then_set", "--format", "text").out.startswith(f"task       {ONE}\n")
    assert bfcl("trace", "read_then_set", "--format", "text").out.endswith(
        "\n1 task: 1 not dropped so far, last in executable_replay\n"
    )


def test_damaged_run_does_not_hide_the_template_of_another(bfcl: Command, run: Path) -> None:
    runs.good_run(run, 2)
    broken = runs.good_run(run.with_name("aaa"), 2)
    (broken.stage_cache / "task_instances.parquet").write_bytes(b"x")
    assert bfcl("trace", "read_then_set", "--format", "text").out.splitlines()[1] == "run        build/runs/demo"
    run.rename(run.parent.parent / "away")
    said = bfcl("trace", "read_then_set", "--format", "text")
    assert (said.status, said.err.startswith("table_unreadable: task_instances.parquet: cannot be read: ")) == (1, True)
