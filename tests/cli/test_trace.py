"""`bfcl trace`: the whole text and document of each kind of journey."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.records.surface import Turn, Violation
from bfcl.records.task import SlotDelivery
from bfcl.records.trace import Trace
from bfcl.records.verdict import AssertionOutcome, SchemaFailure
from tests.cli import runs
from tests.cli.conftest import Ended
from tests.release import samples

Command = Callable[..., Ended]

HEAD = """\
task       plant__read_then_set__000000000000000{n}
template   read_then_set (confirmation, valves, easy)
intent     adjust
run        build/runs/demo
slots      bar = {n}
           valve = "V-{n}"
fixtures   valves V-{n}

stages
"""

TALK = """
conversation
   0 user         Check V-{n}, then set it to {n} bär.
   1 calls        read_valve(valve="V-{n}")
                  -> {{"grade":"ä","status":"ok","valve":"V-{n}"}}
                  read_valve(valve="V-0")
                  -> {{"grade":"ä","status":"ok","valve":"V-0"}}
   2 assistant    Set V-{n} to {n}?
   3 user         Yes.
   4 calls        set_valve(bar={n}, valve="V-{n}")
                  -> {{"grade":"ä","status":"ok","valve":"V-{n}"}}
   5 assistant    Done.

assertions
  passed          assert_set

"""


@pytest.fixture
def run(project: Path) -> Path:
    return project / "build" / "runs" / "demo"


def _stages(said: Ended) -> list[str]:
    """The lines of the section `stages`."""
    return said.out.partition("\nstages\n")[2].partition("\n\n")[0].splitlines()


def _conversation(said: Ended) -> str:
    return said.out.partition("\nconversation\n")[2].partition("\n\n")[0]


def test_published_task_is_shown_whole(bfcl: Command, run: Path) -> None:
    samples.published(run, 3, rejected=(2,))
    runs.good_run(run)
    stages = """\
  expand             passed   seed 18446744073709551615
  state_machine      passed   2 user turns, 3 calls
  render             passed   language en, worded by the template
  expected_trace     passed   3 calls
  schema_validation  passed
  executable_replay  passed   1 assertion passed
  final_output       passed   published: tier gold, gold eligible, validated by schema, replay, assertions
"""
    text = HEAD.format(n=1) + stages + TALK.format(n=1) + "published\n"
    assert bfcl("trace", "--format", "text", "plant__read_then_set__0000000000000001") == (0, text, "")


def test_task_with_broken_guard_is_dropped_by_render_and_kept_in_raw(bfcl: Command, run: Path) -> None:
    samples.published(run, 3, rejected=(2,))
    two = samples.task(2)
    broken = samples.surface(two, [Violation(guard="must_omit", key="slot", value="bar")])
    runs.write_run(run, [runs.records(samples.task(1)), runs.records(two, rendered_conversations=broken)])
    stages = """\
  expand             passed   seed 18446744073709551614
  state_machine      passed   2 user turns, 3 calls
  render             dropped  surface_guard_violation: must_omit: slot `bar`
  expected_trace     passed   3 calls
  schema_validation  passed
  executable_replay  passed   1 assertion passed
  final_output       dropped  not_selected: in benchmark_raw.parquet, not in benchmark.parquet
"""
    end = "dropped by render: surface_guard_violation: must_omit: slot `bar`\n"
    assert bfcl("trace", "--format", "text", "0002") == (0, HEAD.format(n=2) + stages + TALK.format(n=2) + end, "")


def test_task_without_trace_is_dropped_by_expected_trace_and_later_drops_only_follow(bfcl: Command, run: Path) -> None:
    one = samples.task(1)
    none = Trace(
        task_id=one.task_id,
        template_id=one.template_id,
        turn_policy=one.turn_policy,
        derived=False,
        drop_reason="dependent_call_binding_failed",
        calls=(),
    )
    rejected = dataclasses.replace(samples.schema(one, valid=False), reject_reason="trace_not_derived")
    unplayed = samples.replay(one, "schema_invalid")
    edits = {"expected_traces": none, "schema_validated_traces": rejected, "replay_validated_tasks": unplayed}
    runs.write_run(run, [runs.records(one, **edits)])
    said = bfcl("trace", "--format", "text", one.task_id)
    assert _stages(said)[3:] == [
        "  expected_trace     dropped  dependent_call_binding_failed",
        "  schema_validation  dropped  trace_not_derived",
        "  executable_replay  dropped  schema_invalid",
        "  final_output       absent   nothing is published: no run_manifest.json",
    ]
    assert "   1 calls        no calls derived\n" in said.out
    assert said.out.endswith("   5 assistant    Done.\n\ndropped by expected_trace: dependent_call_binding_failed\n")


def test_task_with_invalid_call_names_call_pointer_and_code(bfcl: Command, run: Path) -> None:
    one = samples.task(1)
    failures = (
        SchemaFailure(code="type", message="'x' is not an integer", call_index=2, pointer="/bar"),
        SchemaFailure(code="missing_required_tool", message="no call of `list_alarms`"),
    )
    rejected = dataclasses.replace(samples.schema(one, valid=False), failures=failures)
    runs.write_run(run, [runs.records(one, schema_validated_traces=rejected)])
    said = bfcl("trace", "--format", "text", one.task_id)
    assert said.out.splitlines()[-1] == (
        "dropped by schema_validation: expected_trace_schema_mismatch: "
        "call 2/bar: type: 'x' is not an integer; missing_required_tool: no call of `list_alarms`"
    )


def test_task_with_failed_assertion_shows_each_assertion(bfcl: Command, run: Path) -> None:
    one = samples.task(1)
    failed = dataclasses.replace(
        samples.replay(one),
        valid=False,
        reason="assertion_failed",
        detail="assert_set",
        assertions=(
            AssertionOutcome(name="assert_read", status="passed"),
            AssertionOutcome(name="assert_set", status="failed", detail="valve still at 0"),
            AssertionOutcome(name="assert_else", status="not_applicable"),
        ),
    )
    runs.write_run(run, [runs.records(one, replay_validated_tasks=failed)])
    said = bfcl("trace", "--format", "text", one.task_id)
    assert said.out.endswith(
        "\nassertions\n"
        "  passed          assert_read\n"
        "  failed          assert_set: valve still at 0\n"
        "  not_applicable  assert_else\n"
        "\n"
        "dropped by executable_replay: assertion_failed: assert_set\n"
    )


def test_task_missing_from_a_published_run_is_dropped_by_final_output(bfcl: Command, run: Path) -> None:
    samples.published(run, 1, rejected=())
    runs.good_run(run, 2)
    said = bfcl("trace", "--format", "text", "0002")
    assert said.out.splitlines()[-1] == "dropped by final_output: not_in_raw: no row in benchmark_raw.parquet"


def test_unfinished_run_shows_what_is_there(bfcl: Command, run: Path) -> None:
    later = ["rendered_conversations", "expected_traces", "schema_validated_traces", "replay_validated_tasks"]
    one, two = samples.task(1), samples.task(2)
    runs.write_run(run, [runs.records(one), runs.records(two, conversation_plans=None)], without=later)
    said = bfcl("trace", "--format", "text", two.task_id)
    assert said.status == 0
    assert _stages(said) == [
        "  expand             passed   seed 18446744073709551614",
        "  state_machine      absent   its table is of another build: no row",
        "  render             absent   not run yet: no table",
        "  expected_trace     absent   not run yet: no table",
        "  schema_validation  absent   not run yet: no table",
        "  executable_replay  absent   not run yet: no table",
        "  final_output       absent   nothing is published: no run_manifest.json",
    ]
    assert said.out.endswith(
        "\nconversation\n  no wording: render has no row\n\n"
        "not dropped so far; state_machine: its table is of another build: no row\n"
    )


def test_row_at_another_position_of_a_stale_table_is_found(bfcl: Command, run: Path) -> None:
    one, two = samples.task(1), samples.task(2)
    runs.write_run(run, [runs.records(one), runs.records(two)])
    stale = run.parent / "stale"
    runs.write_run(stale, [runs.records(two), runs.records(one)])
    (stale / "stage_cache" / "expected_traces.parquet").replace(run / "stage_cache" / "expected_traces.parquet")
    assert 'set_valve(bar=2, valve="V-2")' in _conversation(
        bfcl("trace", "--format", "text", two.task_id, "--run", str(run))
    )


def test_corrected_slot_shows_its_first_value(bfcl: Command, run: Path) -> None:
    update = SlotDelivery(entry_index=0, values={"bar": 5}, aliases={})
    one = dataclasses.replace(samples.task(1), slots={"bar": 5, "valve": "V-1"}, slot_updates=(update,))
    runs.write_run(run, [runs.records(one)])
    assert (
        '\nslots      bar = 5 (first 1)\n           valve = "V-1"\n'
        in bfcl("trace", "--format", "text", one.task_id).out
    )


def test_task_without_slots_intent_and_difficulty_leaves_the_lines_out(bfcl: Command, run: Path) -> None:
    bare = dataclasses.replace(
        samples.task(1), intent=None, difficulty=None, slots={}, slots_initial={}, fixture_refs=()
    )
    records = {**runs.records(samples.task(1)), "task_instances": bare}
    runs.write_run(run, [records])
    head = bfcl("trace", "--format", "text", bare.task_id).out.partition("\nstages\n")[0]
    assert head.splitlines()[1:] == ["template   read_then_set (confirmation, valves)", "run        build/runs/demo"]


def test_text_of_several_lines_is_indented_and_control_characters_spelt_out(bfcl: Command, run: Path) -> None:
    one = samples.task(1)
    surface = dataclasses.replace(samples.surface(one), turns=(Turn(kind="user", content="first\n\x1b[2Jsecond"),))
    runs.write_run(run, [runs.records(one, rendered_conversations=surface)])
    talk = "   0 user         first\n                  \\x1b[2Jsecond"
    assert _conversation(bfcl("trace", "--format", "text", one.task_id)) == talk


@pytest.mark.parametrize("asked", ["plant__read_then_set__0000000000000003", "0003", "3"])
def test_json_carries_every_row_with_values_in_place_of_stored_text(bfcl: Command, run: Path, asked: str) -> None:
    samples.published(run, 3, rejected=(2,))
    runs.good_run(run)
    said = bfcl("trace", asked, "--json")
    assert (said.status, said.err) == (0, "")
    document = json.loads(said.out)
    stages = {stage.pop("stage"): stage for stage in document.pop("stages")}
    assert document == {
        "schema_version": "1.0",
        "run": "build/runs/demo",
        "also_in": [],
        "task_id": "plant__read_then_set__0000000000000003",
        "template_id": "read_then_set",
        "dropped_by": None,
        "reason": None,
        "detail": None,
    }
    assert {name: stage["table"] for name, stage in stages.items()} == {
        "expand": "task_instances.parquet",
        "state_machine": "conversation_plans.parquet",
        "render": "rendered_conversations.parquet",
        "expected_trace": "expected_traces.parquet",
        "schema_validation": "schema_validated_traces.parquet",
        "executable_replay": "replay_validated_tasks.parquet",
        "final_output": "benchmark.parquet",
    }
    assert stages["expand"]["row"]["slots"] == {"bar": 3, "valve": "V-3"}
    assert stages["expand"]["row"]["fixture_refs"] == ['["valves","V-3"]']
    assert stages["state_machine"] == {
        "table": "conversation_plans.parquet",
        "outcome": "passed",
        "reason": None,
        "detail": "2 user turns, 3 calls",
        "row": {
            "task_id": "plant__read_then_set__0000000000000003",
            "template_id": "read_then_set",
            "turn_policy": "confirmation",
            "num_user_turns": 2,
            "num_tool_calls": 3,
            "is_multi_turn": True,
            "has_user_confirmation": True,
            "has_slot_correction": False,
            "steps": [{"kind": "user", "source": "first_turn"}],
        },
    }
    assert stages["final_output"]["row"] == {
        "in_raw": True,
        "in_published": True,
        "tier": "gold",
        "gold_eligible": True,
        "validated_by": ["schema", "replay", "assertions"],
        "held_out_hit": None,
        "src": "plant:read_then_set",
    }


def test_json_of_a_dropped_task_names_stage_reason_and_detail(bfcl: Command, run: Path) -> None:
    one = samples.task(1)
    failed = dataclasses.replace(samples.replay(one), valid=False, reason="state_diverged", detail="/valves/0")
    runs.write_run(run, [runs.records(one, replay_validated_tasks=failed)], without=["conversation_plans"])
    document = json.loads(bfcl("trace", one.task_id, "--json").out)
    assert [document[key] for key in ("dropped_by", "reason", "detail")] == [
        "executable_replay",
        "state_diverged",
        "/valves/0",
    ]
    rows = {stage["stage"]: stage["row"] is not None for stage in document["stages"]}
    assert rows == {
        "expand": True,
        "state_machine": False,
        "render": True,
        "expected_trace": True,
        "schema_validation": True,
        "executable_replay": True,
        "final_output": False,
    }


def test_config_and_run_together_are_a_usage_error(bfcl: Command) -> None:
    usage = "Usage: bfcl trace [OPTIONS] TASK_ID\nTry 'bfcl trace --help' for help.\n\n"
    said = f"{usage}Error: give --config or --run, not both\n"
    assert bfcl("trace", "--format", "text", "x", "--config", "a", "--run", "b") == (1, "", said)


def test_damaged_table_is_refused_by_name(bfcl: Command, run: Path) -> None:
    runs.good_run(run)
    (run / "stage_cache" / "expected_traces.parquet").write_bytes(b"PAR1")
    said = bfcl("trace", "--format", "text", "0001")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("table_unreadable: expected_traces.parquet: cannot be read: ")
