"""An assertion sees the row, its template and the slots, or the names of slots that nobody could find again."""

from __future__ import annotations

from bfcl.evaluate.drive.slots import Unrecovered, recover
from bfcl.evaluate.drive.task_view import task_view
from bfcl.records.task import Task
from tests.evaluate.drive.benchmark import Benchmark

SLOTS = {"slots", "slots_initial", "slot_updates"}


def test_known_slots_are_shown_and_none_is_unresolved(studio: Benchmark) -> None:
    row = studio.row("kiln_status")
    template = next(one for one in studio.pack.templates if one.template_id == "kiln_status")
    bound = recover(studio.pack, studio.manifest, [row])[row.task_id]
    assert isinstance(bound, Task)
    seen = task_view(row, template, bound)
    assert (seen["slots"], seen["slot_updates"]) == (dict(bound.slots), [])
    assert [seen[f"unresolved_{name}"] for name in sorted(SLOTS)] == [[], [], []]
    assert (seen["task_id"], seen["seed"], seen["edge_signatures"]) == (
        row.task_id,
        row.published["seed"],
        list(template.edge_signatures),
    )
    assert seen["expected_tool_calls"] == [call.to_json() for call in row.calls]


def test_unknown_slots_are_left_out_and_named(studio: Benchmark) -> None:
    row = studio.row("kiln_status")
    template = next(one for one in studio.pack.templates if one.template_id == "kiln_status")
    known = task_view(row, template, recover(studio.pack, studio.manifest, [row])[row.task_id])
    seen = task_view(row, template, Unrecovered(why="lost", slots=("a", "b"), corrected=("b",)))
    assert known.keys() - seen.keys() == SLOTS
    assert seen["unresolved_slots"] == seen["unresolved_slots_initial"] == ["a", "b"]
    assert seen["unresolved_slot_updates"] == ["b"]
