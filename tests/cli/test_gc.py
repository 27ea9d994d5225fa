"""`bfcl gc`: what it says, what it refuses, which configurations and runs it asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.graph.invocation import invocation
from bfcl.graph.layout import BuildTree
from bfcl.graph.pointers import Pointer, write_pointer
from bfcl.graph.store import Entry, Key, Store
from bfcl.graph.writer import build_lock
from tests.cli.conftest import Ended

Command = Callable[..., Ended]


def put(project: Path, stage: str, data: bytes = b"{}\n") -> Entry:
    key = Key(stage=stage, shard=None, code="", params={}, inputs={})
    return Store(BuildTree(project)).put([(key, {"rows.jsonl": data})])[0]


def configure(project: Path, name: str, output: str = "../build/runs") -> Path:
    path = project / "configs" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"expt_name: {name}\noutput_dir: {output}\n")
    return path


def point(project: Path, config: Path, entry: Entry) -> str:
    """Let a configuration's pointer name the entry; its `ck`."""
    ck = invocation(project, project, {"config": str(config)}).ck
    stage = str(entry.key["stage"])
    pointer = Pointer(stage=stage, fp=entry.fp, record_digest=entry.record_digest)
    write_pointer(BuildTree(project).pointer(ck, stage), pointer)
    return ck


def size(entry: Entry) -> int:
    return sum(path.stat().st_size for path in entry.path.iterdir())


def test_gc_says_what_it_removed_stage_by_stage_and_what_it_kept(bfcl: Command, project: Path) -> None:
    kept = put(project, "render", b"x" * 2000 + b"\n")
    point(project, configure(project, "mine"), kept)
    gone = [put(project, "expand"), put(project, "executable_replay")]
    sizes = {str(entry.key["stage"]): size(entry) for entry in gone}
    tail = f"(%s bytes), kept 1 result ({size(kept) / 1024:.1f} KiB)\n" % sum(sizes.values())
    lines = "".join(f"  {stage:<17}  {1:>7}  {f'{sizes[stage]} bytes':>10}\n" for stage in sorted(sizes))
    assert bfcl("gc", "--dry-run", "--format", "text") == (0, f"{lines}would remove 2 results {tail}", "")
    assert all(entry.path.is_dir() for entry in gone)
    assert bfcl("gc", "--format", "text") == (0, f"{lines}removed 2 results {tail}", "")
    assert not any(entry.path.exists() for entry in gone)
    assert bfcl("gc", "--format", "text").out == (
        f"removed 0 results (0 bytes), kept 1 result ({size(kept) / 1024:.1f} KiB)\n"
    )


def test_gc_as_json_carries_every_number(bfcl: Command, project: Path) -> None:
    mine, old = configure(project, "mine"), configure(project, "old")
    kept, gone = put(project, "render"), put(project, "expand")
    point(project, mine, kept)
    forgotten = point(project, old, gone)
    half = BuildTree(project).root / ".tmp-00"
    half.write_bytes(b"12345")
    said = bfcl("gc", "--config", "configs/mine.yaml", "--format", "json")
    assert (said.status, said.err) == (0, "")
    assert json.loads(said.out) == {
        "schema_version": "1.0",
        "dry_run": False,
        "kept": {"results": 1, "size_bytes": size(kept)},
        "removed": {
            "results": 1,
            "size_bytes": json.loads(said.out)["freed_bytes"] - 5,
            "stages": {"expand": {"results": 1, "size_bytes": json.loads(said.out)["freed_bytes"] - 5}},
            "leftovers_bytes": 5,
            "configurations": [forgotten],
            "configuration_names": {forgotten: "configs/old.yaml"},
        },
        "freed_bytes": json.loads(said.out)["freed_bytes"],
        "unread_configurations": [],
    }
    assert json.loads(said.out)["freed_bytes"] > 100
    assert not half.exists()


def test_directory_of_configurations_keeps_each_of_them(bfcl: Command, project: Path) -> None:
    for name in ("one", "two"):
        point(project, configure(project, name), put(project, name))
    (project / "configs" / "two.yaml").rename(project / "elsewhere.yaml")
    said = bfcl("gc", "--config", "configs", "--config", "elsewhere.yaml", "--format", "text")
    assert said.out.splitlines()[-1].startswith("removed 0 results")
    said = bfcl("gc", "--config", "configs", "--format", "text")
    assert said.out.splitlines()[-1].startswith("removed 1 result (")
    assert "  configurations forgotten:\n" in said.out


@pytest.mark.parametrize("way", ["build/runs", "configuration", "option"])
def test_result_that_a_manifest_names_stays_wherever_the_run_is(
    bfcl: Command, project: Path, tmp_path: Path, way: str
) -> None:
    entry = put(project, "final_output")
    run = {"build/runs": project / "build" / "runs" / "far"}.get(way, tmp_path / "outside" / "far")
    run.mkdir(parents=True)
    (run / "run_manifest.json").write_text(json.dumps({"build": {"stages": {"final_output": {"fp": entry.fp}}}}))
    if way == "configuration":
        configure(project, "far", str(tmp_path / "outside"))
    more = ["--run", str(run)] if way == "option" else []
    assert bfcl("gc", "--format", "text", *more).status == 0
    assert entry.path.is_dir()


WARNING = "configs/silent.yaml names no run: what a publication of it may name was not looked for\n"


@pytest.mark.parametrize("format_", ["text", "json"])
def test_configuration_that_names_no_run_is_told(bfcl: Command, project: Path, format_: str) -> None:
    configure(project, "silent").write_text("family: bfcl\n")
    put(project, "render")
    assert bfcl("gc", "--dry-run", "--format", format_).err == WARNING


UNREADABLE = (
    "build_roots_unreadable: configs/{name}.yaml: cannot be read as a configuration, so nobody knows where its run "
    "lies and which stored results that names; nothing was removed\n"
    "  fix: mend it, or move it out of `configs` and name its run, if it has one, with `--run`\n"
)
NO_RUN = (
    "run_not_found: {name}: `--run` names no run directory: neither run_manifest.json nor stage_cache/ is there; "
    "nothing was removed\n  fix: name the directory that holds run_manifest.json, or leave `--run` out\n"
)


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--config", "configs/mine.yaml"]])
def test_configuration_that_cannot_be_read_and_run_that_is_not_there_stop_it_all_named(
    bfcl: Command, project: Path, more: list[str]
) -> None:
    configure(project, "mine")
    for name in ("broken", "other"):
        configure(project, name).write_text("- [\n")
    (project / "build" / "runs").mkdir(parents=True)
    entry = put(project, "render")
    told = UNREADABLE.format(name="broken") + UNREADABLE.format(name="other")
    told += NO_RUN.format(name="gone") + NO_RUN.format(name="build/runs")
    said = bfcl("gc", "--run", "gone", "--run", "build/runs", "--format", "text", *more)
    assert said == (1, "", told)
    assert entry.path.is_dir()


def test_unreadable_configuration_that_is_moved_away_stops_nothing_and_its_run_can_be_given(
    bfcl: Command, project: Path, tmp_path: Path
) -> None:
    entry = put(project, "final_output")
    configure(project, "broken").write_text("- [\n")
    run = tmp_path / "outside" / "far"
    run.mkdir(parents=True)
    (run / "run_manifest.json").write_text(json.dumps([entry.fp]))
    (project / "configs" / "broken.yaml").rename(project / "broken.txt")
    assert bfcl("gc", "--run", str(run), "--format", "text").err == ""
    assert entry.path.is_dir()


def test_forgotten_configurations_are_named_by_file_by_experiment_or_as_unknown(bfcl: Command, project: Path) -> None:
    mine, old = configure(project, "mine"), configure(project, "old")
    known = point(project, old, put(project, "render"))
    key = Key(stage="final_output", shard=None, code="", params={"expt_name": "older"}, inputs={})
    (published,) = Store(BuildTree(project)).put([(key, {"x": b""})])
    for ck in ("aaaa", "bbbb"):
        entry = published if ck == "aaaa" else put(project, "expand")
        stage = str(entry.key["stage"])
        pointer = Pointer(stage=stage, fp=entry.fp, record_digest=entry.record_digest)
        write_pointer(BuildTree(project).pointer(ck, stage), pointer)
    names = {known: "configs/old.yaml", "aaaa": "earlier settings of experiment older", "bbbb": None}
    lines = "".join(f"    {ck}  {names[ck] or 'unknown: it never finished a run'}\n" for ck in sorted(names))
    said = bfcl("gc", "--dry-run", "--config", str(mine), "--format", "text")
    assert f"  configurations would be forgotten:\n{lines}would remove 3 results (" in said.out
    document = json.loads(bfcl("gc", "--config", str(mine), "--format=json").out)
    assert document["removed"]["configuration_names"] == names


def test_warning_comes_before_anything_is_removed(bfcl: Command, project: Path) -> None:
    configure(project, "silent").write_text("family: bfcl\n")
    entry = put(project, "render")
    lock = build_lock(BuildTree(project))
    lock.acquire()
    try:
        said = bfcl("gc", "--format", "text")
    finally:
        lock.release()
    assert (said.status, said.err.startswith(WARNING), entry.path.is_dir()) == (1, True, True)


def test_gc_is_refused_while_a_run_holds_the_build_even_to_look(bfcl: Command, project: Path) -> None:
    entry = put(project, "render")
    lock = build_lock(BuildTree(project))
    lock.acquire()
    told = (
        f"run_locked: another BFCL process is using this project's build directory (process {os.getpid()})\n"
        "  fix: wait for that process to end, or stop it\n"
    )
    assert bfcl("gc", "--format", "text") == (1, "", told)
    assert bfcl("gc", "--dry-run", "--format", "text") == (1, "", told)
    lock.release()
    assert entry.path.is_dir()
    bfcl("gc")
    assert not entry.path.exists()


def test_configuration_that_cannot_be_read_is_refused_before_anything_is_removed(bfcl: Command, project: Path) -> None:
    entry = put(project, "render")
    said = bfcl("gc", "--config", "gone.yaml", "--format", "text")
    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "gone.yaml: generation_config_invalid: cannot be read: No such file or directory; expected a run "
        "configuration\n  fix: name one with `config=PATH`\n"
    )
    assert entry.path.is_dir()


def test_directory_without_configurations_is_refused_rather_than_taken_for_none(bfcl: Command, project: Path) -> None:
    entry = put(project, "render")
    (project / "configs").mkdir()
    said = bfcl("gc", "--config", "configs", "--format", "text")
    assert said.status == 1
    assert said.err.endswith("Error: --config configs: the directory holds no *.yaml file\n")
    assert entry.path.is_dir()


def test_project_that_was_never_built_has_nothing_to_remove_and_stays_as_it_is(bfcl: Command, project: Path) -> None:
    said = bfcl("gc", "--format", "text")
    assert said == (0, "removed 0 results (0 bytes), kept 0 results (0 bytes)\n", "")
    assert list(project.iterdir()) == []
