"""`bfcl build-report`: the newest log of a project, as text and as data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.cli.build_report import ACTIONS
from bfcl.graph.evidence import Evidence
from bfcl.graph.layout import BuildTree
from bfcl.graph.store import Key, Store
from tests.cli import runs
from tests.cli.conftest import Ended
from tests.release import samples

Command = Callable[..., Ended]

NAME = "000007-20260302T090000123456-4242"
FIX = "  fix: delete this directory; it is evidence only, nothing is built from it\n"


def event(task: str, shard: str | None, action: str) -> dict[str, Any]:
    return {"task": task, "stage": task, "shard": shard, "fp": "0" * 64, "action": action, "seconds": 0.5}


def write_log(project: Path, tasks: dict[str, Any], name: str = NAME) -> Path:
    directory = project / "build" / "log" / name
    directory.mkdir(parents=True)
    for task, body in tasks.items():
        (directory / f"{task}.json").write_text(json.dumps(body))
    return directory


def body(task: str, seconds: float | None, *events: tuple[str | None, str]) -> dict[str, Any]:
    return {"task": task, "seconds": seconds, "events": [event(task, shard, action) for shard, action in events]}


@pytest.fixture
def reworded(project: Path) -> Path:
    """One template of three reworded."""
    expand = [("a", "computed"), ("b", "hit"), ("c/0", "hit"), ("c/1", "verified"), (None, "computed")]
    tasks = {
        "render": body("render", 1.23456, ("a", "refused"), ("b", "hit"), (None, "hit")),
        "expand": body("expand", 0.25, *expand),
        "config": body("config", None),
        "tidy": body("tidy", 0.0),
    }
    write_log(project, tasks)
    return project


def test_report_counts_by_task_in_pipeline_order_and_names_computed_shards(bfcl: Command, reworded: Path) -> None:
    text = """\
invocation  000007-20260302T090000123456-4242 (started 2026-03-02 09:00:00 UTC)

task           hit  computed  verified   refused  result      seconds
config           0         0         0         0  -                 -
expand           2         1         1         0  computed      0.250
render           1         0         0         1  hit           1.235
tidy             0         0         0         0  -             0.000

computed shards
  expand: a

refused shards
  render: a

1 shard computed, 3 taken from the store
"""
    assert bfcl("build-report", "--format", "text") == (0, text, "")


def test_report_as_json_lists_every_shard(bfcl: Command, reworded: Path) -> None:
    said = bfcl("build-report", "--json")
    assert (said.status, said.err) == (0, "")
    document = json.loads(said.out)
    assert document["schema_version"] == "1.0"
    assert document["invocation"] == NAME
    assert [task["task"] for task in document["tasks"]] == ["config", "expand", "render", "tidy"]
    assert document["tasks"][1] == {
        "task": "expand",
        "seconds": 0.25,
        "shards": {"hit": 2, "computed": 1, "verified": 1, "refused": 0},
        "results": ["computed"],
        "computed": ["a"],
        "refused": [],
    }


def test_report_orders_tasks_as_the_pipeline_runs_them_then_unknown_ones_by_name(bfcl: Command, project: Path) -> None:
    names = ["b", "a", "publish", "final_output", "render", "expand", "gold_gate", "prepare", "config"]
    write_log(project, {name: body(name, 0.0) for name in names})
    tasks = json.loads(bfcl("build-report", "--json").out)["tasks"]
    expected = ["config", "prepare", "gold_gate", "expand", "render", "final_output", "publish", "a", "b"]
    assert [task["task"] for task in tasks] == expected


def test_report_reads_the_newest_invocation(bfcl: Command, reworded: Path) -> None:
    write_log(reworded, {"render": body("render", 2.0)}, "000008-20260302T090001000000-7")
    said = bfcl("build-report", "--format", "text")
    assert said.out.splitlines()[0] == "invocation  000008-20260302T090001000000-7 (started 2026-03-02 09:00:01 UTC)"


def test_report_names_at_most_ten_shards_a_task(bfcl: Command, project: Path) -> None:
    write_log(project, {"expand": body("expand", 1.0, *((f"t{number}", "computed") for number in range(12)))})
    said = bfcl("build-report", "--format", "text")
    assert "  expand: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more\n" in said.out


def test_report_names_shards_once_where_several_tasks_computed_the_same(bfcl: Command, project: Path) -> None:
    same = [("a", "computed"), ("b", "computed")]
    tasks = {"expand": same, "render": same[:1], "expected_trace": same, "final_output": [("a", "hit")]}
    write_log(project, {task: body(task, 1.0, *events) for task, events in tasks.items()})
    said = bfcl("build-report", "--format", "text")
    assert said.out.partition("\n\ncomputed shards\n")[2] == (
        "  expand, expected_trace: a, b\n  render: a\n\n5 shards computed, 1 taken from the store\n"
    )


def test_report_of_an_invocation_without_tasks_says_so(bfcl: Command, project: Path) -> None:
    write_log(project, {})
    text = f"invocation  {NAME} (started 2026-03-02 09:00:00 UTC)\n\nno task ran\n"
    assert bfcl("build-report", "--format", "text") == (0, text, "")


def test_report_of_a_directory_with_another_name_shows_no_time(bfcl: Command, project: Path) -> None:
    write_log(project, {}, "by-hand")
    assert bfcl("build-report", "--format", "text").out == "invocation  by-hand\n\nno task ran\n"


def test_report_reads_what_the_build_writes(bfcl: Command, project: Path) -> None:
    evidence = Evidence(project / "build" / "log")
    evidence.start("expand")
    for action in ACTIONS:
        evidence.add("expand", f"t_{action}", "0" * 64, action)
    evidence.add("expand", None, "0" * 64, "hit")
    evidence.write("expand")
    task = json.loads(bfcl("build-report", "--json").out)["tasks"][0]
    assert task.pop("seconds") >= 0
    assert task == {
        "task": "expand",
        "shards": {"hit": 1, "computed": 1, "verified": 1, "refused": 1},
        "results": ["hit"],
        "computed": ["t_computed"],
        "refused": ["t_refused"],
    }


def test_report_finds_the_project_from_a_directory_below(
    bfcl: Command, reworded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reworded / "dodo.py").write_text("")
    (reworded / "packs").mkdir()
    monkeypatch.chdir(reworded / "packs")
    assert bfcl("build-report", "--format", "text").out.startswith(f"invocation  {NAME} ")


def test_project_without_a_log_is_refused(bfcl: Command, project: Path) -> None:
    said = (
        "build_log_missing: build/log: no invocation is recorded here\n"
        "  fix: run `doit generate` first, in the directory of its dodo.py\n"
    )
    assert bfcl("build-report", "--format", "text") == (1, "", said)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"task": "t", "seconds": 1}',
        '{"task": "t", "seconds": "1", "events": []}',
        '{"task": "t", "seconds": 1, "events": 5}',
        '{"task": "t", "seconds": 1, "events": [5]}',
        '{"task": "t", "seconds": 1, "events": [{"shard": "a"}]}',
        "\ufeff{}",
    ],
)
def test_log_that_is_no_record_is_refused(bfcl: Command, project: Path, text: str) -> None:
    (write_log(project, {}) / "expand.json").write_text(text)
    said = f"build_log_unreadable: build/log/{NAME}: holds a file that is no record of a task\n{FIX}"
    assert bfcl("build-report", "--format", "text") == (1, "", said)


def test_report_is_the_same_document_by_either_flag_and_to_scripts(bfcl: Command, reworded: Path) -> None:
    piped = bfcl("build-report")
    assert json.loads(piped.out)["schema_version"] == "1.0"
    assert bfcl("build-report", "--json") == bfcl("build-report", "--format", "json") == piped
    assert reworded.is_dir()


def test_report_lists_what_every_template_lost_with_a_task_to_trace(bfcl: Command, project: Path) -> None:
    one, two = samples.task(1), samples.task(2)
    failed = dataclasses.replace(samples.replay(two), valid=False, reason="assertion_failed", detail="assert_set")
    run = runs.write_run(project / "run", [runs.records(one), runs.records(two, replay_validated_tasks=failed)])
    store = Store(BuildTree(project))
    log = {}
    for stage, table in (
        ("expand", "task_instances"),
        ("render", "rendered_conversations"),
        ("executable_replay", "replay_validated_tasks"),
    ):
        name = f"{table}.parquet"
        data = (run.stage_cache / name).read_bytes()
        (entry,) = store.put([(Key(stage=stage, shard=None, code="", params={}, inputs={}), {name: data})])
        log[stage] = {"task": stage, "seconds": 0.0, "events": [{**event(stage, None, "hit"), "fp": entry.fp}]}
    write_log(project, log)
    text = (
        f"\ndropped tasks\n  read_then_set  1 of 2  executable_replay: assertion_failed  (bfcl trace {two.task_id})\n"
    )
    said = bfcl("build-report", "--format", "text")
    assert (said.status, said.err) == (0, "")
    assert said.out.endswith(text)
    assert json.loads(bfcl("build-report", "--json").out)["losses"] == [
        {
            "template_id": "read_then_set",
            "stage": "executable_replay",
            "reason": "assertion_failed",
            "tasks": 1,
            "of": 2,
            "example": two.task_id,
        }
    ]


def test_report_does_not_know_losses_where_the_results_are_gone(bfcl: Command, reworded: Path) -> None:
    assert json.loads(bfcl("build-report", "--json").out)["losses"] is None
    assert "dropped tasks" not in bfcl("build-report", "--format", "text").out
