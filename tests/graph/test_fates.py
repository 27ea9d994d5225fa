"""What became of every task of a template, and which words name a template rather than a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import DriftError
from bfcl.graph.fates import Fate, template_fates
from bfcl.graph.layout import RunTree
from bfcl.records.ids import TaskId
from bfcl.records.surface import Violation
from tests.cli import runs
from tests.release import samples

ONE, TWO, THREE = (TaskId(f"plant__read_then_set__000000000000000{number}") for number in (1, 2, 3))


@pytest.fixture
def run(tmp_path: Path) -> RunTree:
    return RunTree(tmp_path / "demo")


def fates(*given: RunTree, asked: str = "read_then_set") -> tuple[Fate, ...]:
    found = template_fates(given, asked)
    assert found is not None
    return found.tasks


def test_task_ends_where_it_was_dropped_first(run: RunTree) -> None:
    task = samples.task(2)
    broken = samples.surface(task, [Violation(guard="must_omit", key="slot", value="bar")])
    failed = samples.replay(task, "assertion_failed")
    lossy = runs.records(task, rendered_conversations=broken, replay_validated_tasks=failed)
    samples.published(run.root, 3, rejected=(2, 3))
    runs.write_run(run.root, [runs.records(samples.task(1)), lossy, runs.records(samples.task(3))])
    assert fates(run) == (
        Fate(task_id=ONE, stage="final_output", outcome="published"),
        Fate(task_id=TWO, stage="render", outcome="dropped", reason="must_omit"),
        Fate(task_id=THREE, stage="final_output", outcome="dropped", reason="not_selected"),
    )


def test_task_that_a_publication_does_not_know_was_dropped_before_it(run: RunTree) -> None:
    samples.published(run.root, 1, rejected=())
    runs.good_run(run.root, 2)
    assert fates(run)[1] == Fate(task_id=TWO, stage="final_output", outcome="dropped", reason="not_in_raw")


def test_task_of_an_unfinished_run_is_open_at_the_last_stage_that_has_it(run: RunTree) -> None:
    second = runs.records(samples.task(2), expected_traces=None, schema_validated_traces=None)
    runs.write_run(run.root, [runs.records(samples.task(1)), second], without=("replay_validated_tasks",))
    assert fates(run) == (
        Fate(task_id=ONE, stage="schema_validation", outcome="open"),
        Fate(task_id=TWO, stage="render", outcome="open"),
    )


def test_first_run_that_has_the_template_is_read_and_the_others_are_named(run: RunTree) -> None:
    first, second = runs.good_run(run.root, 1), runs.good_run(run.root.with_name("other"), 2)
    found = template_fates([RunTree(run.root.with_name("absent_is_damage")), first, second], "read_then_set")
    assert found is not None
    assert (found.run, found.also_in, len(found.tasks)) == (first, (second,), 1)


def test_other_templates_are_left_out_and_a_task_of_that_very_id_comes_first(run: RunTree) -> None:
    other = runs.renamed(samples.task(2, "refill"), "plant__refill__2")
    strange = runs.renamed(samples.task(3), "refill")
    runs.write_run(run.root, [runs.records(samples.task(1)), runs.records(other)])
    assert [fate.task_id for fate in fates(run, asked="refill")] == ["plant__refill__2"]
    assert template_fates([run], "nobody") is None
    runs.write_run(run.root, [runs.records(strange), runs.records(other)])
    assert template_fates([run], "refill") is None


def test_single_task_named_with_its_pack_is_no_template(run: RunTree) -> None:
    runs.good_run(run.root, 1)
    assert template_fates([run], "plant__read_then_set") is None
    assert len(fates(run)) == 1


def test_damaged_table_is_told_where_no_other_run_has_the_template(run: RunTree) -> None:
    runs.good_run(run.root, 1)
    (run.stage_cache / "task_instances.parquet").write_bytes(b"x")
    with pytest.raises(DriftError) as refusal:
        template_fates([run], "read_then_set")
    assert [problem.code for problem in refusal.value.problems] == ["table_unreadable"]
