"""The values that rows bound, found again and proved."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

import pytest

from bfcl.evaluate.drive.slots import Unrecovered, recover, unresolved
from bfcl.exports.row import ExportRow
from bfcl.records.task import Task
from bfcl.release.read import open_release
from tests.evaluate.drive.benchmark import Benchmark
from tests.release import samples

LOST = "no task that the template binds has the row's id, seed and fixture references"
UNSAID = "the run manifest does not state the seed and candidate budget of the run"


def edited(row: ExportRow, **columns: object) -> ExportRow:
    return dataclasses.replace(row, published=cast("Any", {**row.published, **columns}))


def one(studio: Benchmark, row: ExportRow, **manifest: Any) -> Task | Unrecovered:
    return recover(studio.pack, {**studio.manifest, **manifest}, [row])[row.task_id]


def test_recover_finds_the_task_of_every_row(studio: Benchmark) -> None:
    found = recover(studio.pack, studio.manifest, studio.rows)
    assert [*found] == [row.task_id for row in studio.rows]
    for row in studio.rows:
        task = found[row.task_id]
        assert isinstance(task, Task)
        assert (task.task_id, task.seed, list(task.fixture_refs)) == (
            row.task_id,
            row.published["seed"],
            row.published["fixture_refs"],
        )


def test_recover_tells_corrected_values_apart_from_the_first_ones(studio: Benchmark) -> None:
    row = studio.row("cone_corrected")
    task = one(studio, row)
    assert isinstance(task, Task)
    assert task.slots["cone"] == row.calls[0].arguments["cone"]
    assert task.slots_initial["cone"] != task.slots["cone"]
    assert [update.values for update in task.slot_updates] == [{"cone": task.slots["cone"]}]


@pytest.mark.parametrize("column", ["seed", "fixture_refs", "variant_index"])
def test_recover_gives_nothing_where_the_row_does_not_prove_it(studio: Benchmark, column: str) -> None:
    row = studio.row("cone_corrected")
    other = {"seed": 1, "fixture_refs": [], "variant_index": 1}[column]
    assert one(studio, edited(row, **{column: other})) == Unrecovered(
        why=LOST, slots=("cone", "kiln_id"), corrected=("cone",)
    )


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        ({"seeds": {"global": 8}}, LOST),
        ({"seeds": {"global": "7"}}, UNSAID),
        ({"seeds": None}, UNSAID),
        ({"bias_targets": {}}, UNSAID),
        ({"bias_targets": {"candidate_tasks_per_category": 0}}, UNSAID),
    ],
)
def test_recover_gives_nothing_where_the_manifest_does_not_lead_to_it(
    studio: Benchmark, manifest: dict[str, Any], why: str
) -> None:
    assert one(studio, studio.row("kiln_status"), **manifest) == Unrecovered(why=why, slots=("kiln_id",))


def test_recover_knows_no_slots_of_a_template_that_the_pack_lacks(studio: Benchmark) -> None:
    assert one(studio, edited(studio.row("kiln_status"), template_id="gone")) == Unrecovered(why=LOST)


def test_unresolved_names_slots_and_corrections_that_are_unknown(studio: Benchmark) -> None:
    lost = Unrecovered(why=LOST, slots=("a", "b"), corrected=("b",))
    assert unresolved(lost) == {
        "unresolved_slots": ["a", "b"],
        "unresolved_slots_initial": ["a", "b"],
        "unresolved_slot_updates": ["b"],
    }
    assert [*unresolved(one(studio, studio.row("kiln_status"))).values()] == [[], [], []]


def test_recover_reads_seed_and_budget_where_a_released_manifest_has_them(tmp_path: Path, studio: Benchmark) -> None:
    run = samples.config()
    manifest = open_release(samples.published(tmp_path / "run")).manifest
    assert manifest["seeds"] == {**cast("Any", manifest["seeds"]), "global": run.seed}
    budget = run.task_generation.candidate_tasks_per_category
    assert cast("Any", manifest["bias_targets"])["candidate_tasks_per_category"] == budget
    # The seed is the same as the studio's, so its rows are proved by this manifest too.
    assert run.seed == studio.config.seed
    assert isinstance(one(studio, studio.row("kiln_status"), **manifest), Task)
