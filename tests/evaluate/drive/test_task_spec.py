"""What the pack adds to a row, and what its assertions are shown."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from bfcl.canonical import canonical_text
from bfcl.evaluate.drive.slots import recover
from bfcl.evaluate.drive.task_spec import Declared, published_specs
from bfcl.oracle.protocol import ResultPath
from bfcl.records.task import Task
from bfcl.stages.executable_replay import task_view
from tests.evaluate.drive.benchmark import Benchmark, play_live, studio_benchmark
from tests.packs import replace


def test_spec_shows_assertions_all_that_generation_did_and_more(studio: Benchmark) -> None:
    bound = recover(studio.pack, studio.manifest, studio.rows)
    specs = studio.specs()
    for row in studio.rows:
        task = bound[row.task_id]
        assert isinstance(task, Task)
        before, now = task_view(task, "en"), specs.of(row).task
        shared = json.loads(canonical_text({name: now[name] for name in before}))
        assert shared == json.loads(canonical_text(before))
        assert sorted(now.keys() - before.keys()) == [
            "base_task_id",
            "call_order_prefix",
            "expected_tool_calls",
            "is_multi_turn",
            "num_tool_calls",
            "pack_id",
            "pack_version",
            "unresolved_slot_updates",
            "unresolved_slots",
            "unresolved_slots_initial",
            "variant_index",
        ]


def test_spec_has_what_the_pack_says_of_tools_calls_and_assertions(studio: Benchmark) -> None:
    dependent = studio.spec(studio.row("last_firing"))
    assert dependent.links == {1: {"firing_id": ResultPath(call=0, path=("kiln", "recent_firings", 0))}}
    assert dependent.assertions == (Declared("assert_firing_from_kiln", "path"),)
    acting = studio.spec(studio.row("start_confirmed"))
    assert acting.links == {}
    assert (acting.mutating, acting.confirmations.turns) == (frozenset({"start_firing"}), frozenset({1}))
    assert acting.assertions == (Declared("assert_started_as_asked", "result"), Declared("assert_kiln_busy", "state"))


def test_spec_of_an_assertion_without_declared_capability_is_unclassified(tmp_path: Path) -> None:
    made = studio_benchmark(
        tmp_path,
        replace("assertions.py", '    "assert_kiln_busy": {"category": "state"},\n', ""),
        templates=("start_confirmed",),
    )
    assert made.spec(made.row("start_confirmed")).assertions[1] == Declared("assert_kiln_busy", "unclassified")


def test_spec_hash_tells_specs_apart_and_hangs_on_nothing_else(studio: Benchmark) -> None:
    specs = studio.specs()
    hashes = [specs.of(row).spec_hash for row in studio.rows]
    assert len(set(hashes)) == len(studio.rows)
    assert hashes == [studio.spec(row).spec_hash for row in studio.rows]


def test_assertion_that_reads_an_unrecovered_slot_is_an_infrastructure_error(tmp_path: Path) -> None:
    line = "def assert_kiln_read(*, state, trace, task, ctx):\n"
    made = studio_benchmark(
        tmp_path, replace("assertions.py", line, f'{line}    assert task["slots"].get("kiln_id")\n')
    )
    other = dataclasses.replace(made, config=dataclasses.replace(made.config, random_seed=8))
    specs = published_specs(made.pack, other.manifest, made.rows)
    reading, silent = made.row("kiln_status"), made.row("out_of_scope")
    assert specs.of(reading).task["unresolved_slots"] == ["kiln_id"]
    assert "slots" not in specs.of(reading).task
    found = play_live(made, reading, spec=specs.of(reading))
    assert (found.status, [(one.verdict, one.detail) for one in found.assertions or ()]) == (
        "assertion_infrastructure_failed",
        [("infrastructure_error", "reads `task['slots']`, which could not be recovered for this row")],
    )
    assert play_live(made, silent, spec=specs.of(silent)).status == "completed"
    assert play_live(made, reading).status == "completed"
