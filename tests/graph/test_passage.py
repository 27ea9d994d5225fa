"""Which stage let a task pass, which dropped it, and which said nothing. Words of each drop are in tests/cli."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bfcl.graph.journey import find_task, read_journey
from bfcl.graph.passage import FINAL, Passage, first_drop, passages
from bfcl.records.surface import Violation
from tests.cli import runs
from tests.release import samples


def path_of(root: Path, *, without: tuple[str, ...] = (), **edits: Any) -> list[Passage]:
    run = runs.write_run(root, [runs.records(samples.task(1), **edits)], without=without)
    return passages(read_journey(find_task([run], "0001")))


def test_task_that_nothing_drops_passes_every_stage_up_to_the_publication_that_is_not_there(tmp_path: Path) -> None:
    path = path_of(tmp_path)
    assert [(one.stage, one.outcome) for one in path] == [
        ("expand", "passed"),
        ("state_machine", "passed"),
        ("render", "passed"),
        ("expected_trace", "passed"),
        ("schema_validation", "passed"),
        ("executable_replay", "passed"),
        (FINAL, "absent"),
    ]
    assert path[-1].detail == "nothing is published: no run_manifest.json"
    assert first_drop(path) is None


def test_first_drop_is_the_one_that_later_ones_follow_from(tmp_path: Path) -> None:
    task = samples.task(1)
    broken = samples.surface(task, [Violation(guard="must_omit", key="slot", value="bar")])
    path = path_of(
        tmp_path, rendered_conversations=broken, replay_validated_tasks=samples.replay(task, "assertion_failed")
    )
    assert [one.stage for one in path if one.outcome == "dropped"] == ["render", "executable_replay"]
    assert first_drop(path) == Passage(
        stage="render", outcome="dropped", reason="surface_guard_violation", detail="must_omit: slot `bar`"
    )


def test_stage_without_a_row_says_whether_it_ran(tmp_path: Path) -> None:
    path = path_of(tmp_path, without=("replay_validated_tasks",), schema_validated_traces=None)
    assert [(one.stage, one.detail) for one in path if one.outcome == "absent"] == [
        ("schema_validation", "its table is of another build: no row"),
        ("executable_replay", "not run yet: no table"),
        (FINAL, "nothing is published: no run_manifest.json"),
    ]
