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
    assert "  configurations forgotten: " in said.out


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


WARNING = "configs/broken.yaml names no run: what a publication of it may name was not looked for\n"


@pytest.mark.parametrize("format_", ["text", "json"])
def test_configuration_that_names_no_run_is_told(bfcl: Command, project: Path, format_: str) -> None:
    configure(project, "broken").write_text("- [\n")
    put(project, "render")
    assert bfcl("gc", "--dry-run", "--format", format_).err == WARNING


def test_warning_comes_before_anything_is_removed(bfcl: Command, project: Path) -> None:
    configure(project, "broken").write_text("- [\n")
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
