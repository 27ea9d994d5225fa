"""Which stage lost a task, and the refusal of tables that do not belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ReleaseError
from bfcl.release.report.fates import Loss, Seen, late_losses, seen_tasks
from tests.cli import runs
from tests.release import samples
from tests.release.report import releases


def by_number(tasks: list[Seen]) -> dict[int, Loss | None]:
    return {int(task.task_id[-16:], 16): task.loss for task in tasks}


def test_each_stage_tells_what_it_lost(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo", releases.lost_tasks())
    assert by_number(list(seen_tasks(release))) == {
        1: None,
        2: Loss(stage="render", reason="must_omit", detail="must_omit: slot `bar`"),
        3: None,
        4: None,
        5: None,
        101: Loss(stage="expected_trace", reason="call_binding_failed"),
        102: Loss(stage="schema_validation", reason="expected_trace_schema_mismatch"),
        103: Loss(stage="executable_replay", reason="assertion_failed", detail="assert_set: no"),
    }


def test_task_that_no_stage_dropped_is_lost_to_the_selection(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo", [runs.records(samples.task(9))])
    assert by_number(list(seen_tasks(release)))[9] == Loss(stage="final_output", reason="not_selected")


def test_task_carries_what_is_counted(tmp_path: Path) -> None:
    seen = next(seen_tasks(releases.release(tmp_path / "demo")))
    assert seen == Seen(
        task_id=samples.task(1).task_id,
        template_id="read_then_set",
        intent="adjust",
        category="valves",
        difficulty="easy",
        turn_policy="confirmation",
        language="en",
        user_turns=2,
        tools_present=("read_valve", "set_valve", "list_alarms"),
        called=("read_valve", "read_valve", "set_valve"),
        assertions=(("assert_set", "passed"),),
        loss=None,
    )


def test_tables_of_different_builds_are_refused(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo", count=2)
    other = runs.good_run(tmp_path / "other", 3)
    (other.stage_cache / "expected_traces.parquet").replace(release.run_dir / "stage_cache" / "expected_traces.parquet")
    with pytest.raises(ReleaseError) as refused:
        list(seen_tasks(release))
    (problem,) = refused.value.problems
    assert problem.code == "release_rows_mismatch"
    third = samples.task(3).task_id
    assert str(problem) == (
        f"release_rows_mismatch: expected_traces: holds `{third}` where task_instances holds no row\n"
        "  fix: generate the benchmark again; stage tables are never edited"
    )


def test_later_stages_name_reasons_and_who_decided() -> None:
    surface = [
        {"task_id": "a", "decision": "kept", "drop_reasons": [], "drop_source": None},
        {"task_id": "b", "decision": "dropped", "drop_reasons": ["leakage:x", "shape:y"], "drop_source": "python"},
    ]
    balance = [
        {
            "task_id": name,
            "selected": selected,
            "is_duplicate": representative is not None,
            "representative_task_id": representative,
            "drop_reason": reason,
            "balance_dimension": dimension,
        }
        for name, selected, representative, reason, dimension in (
            ("a", True, None, None, None),
            ("c", False, "a", "semantic_duplicate", None),
            ("d", False, None, "balance_quota", "turn_policy"),
        )
    ]
    assert late_losses(surface, balance) == {
        "b": Loss(stage="surface_quality", reason="leakage:x, shape:y", detail="decided by python"),
        "c": Loss(stage="dedup_balancing", reason="semantic_duplicate", detail="represented by a"),
        "d": Loss(stage="dedup_balancing", reason="balance_quota", detail="turn_policy"),
    }
