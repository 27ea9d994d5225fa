"""Rows that are out before anything is balanced."""

from __future__ import annotations

import pytest

from bfcl.config.model import TaskGeneration
from bfcl.errors import StageError
from bfcl.stages.balancing.limits import dropped
from tests.stages.balancing.rows import candidate, standing


def test_dropped_names_the_duplicate_then_the_limit_of_each_row() -> None:
    rows = [
        candidate(0),
        candidate(1, num_turns=3),
        candidate(2, num_tool_calls=4),
        candidate(3, num_turns=3, num_tool_calls=4),
        candidate(4, num_turns=3),
    ]
    standings = {row.task_id: standing(row.task_id) for row in rows} | {rows[4].task_id: standing("t04", "t00")}
    limits = TaskGeneration(max_turns=2, max_tool_calls=3)
    assert dropped(rows, standings, limits, remove_duplicates=True) == {
        "t01": "max_turns_exceeded",
        "t02": "max_tool_calls_exceeded",
        "t03": "max_turns_exceeded",
        "t04": "semantic_duplicate",
    }
    assert dropped(rows, standings, limits, remove_duplicates=False)["t04"] == "max_turns_exceeded"
    assert dropped(rows, standings, TaskGeneration(), remove_duplicates=False) == {}


def test_dropped_keeps_rows_at_their_limit() -> None:
    row = candidate(0, num_turns=2, num_tool_calls=3)
    limits = TaskGeneration(max_turns=2, max_tool_calls=3)
    assert dropped([row], {row.task_id: standing("t00")}, limits, remove_duplicates=True) == {}


def test_dropped_refuses_to_empty_coverage_buckets_and_names_them_all() -> None:
    rows = [
        candidate(0),
        candidate(1, turn_policy="correction", num_turns=3),
        candidate(2, turn_policy="correction", num_tool_calls=9),
        candidate(3, edge_signatures=("cold", "hot"), num_turns=3),
    ]
    standings = {row.task_id: standing(row.task_id) for row in rows}
    with pytest.raises(StageError) as refused:
        dropped(rows, standings, TaskGeneration(max_turns=2, max_tool_calls=3), remove_duplicates=True)
    assert str(refused.value) == (
        "coverage_bucket_emptied: en/correction/no edge: none of its 2 rows is within `task_generation.max_turns` and "
        "`task_generation.max_tool_calls`; expected one at least\n"
        "  fix: raise the limit, or take out the templates that cannot keep to it\n"
        "coverage_bucket_emptied: en/single_turn/cold+hot: none of its 1 rows is within `task_generation.max_turns`; "
        "expected one at least\n"
        "  fix: raise the limit, or take out the templates that cannot keep to it"
    )
