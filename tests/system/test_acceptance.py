"""The acceptance list of generation.md §9.8, one test an item, over real doit."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

from tests.packs import BASE, put
from tests.system.project import REPOSITORY, TABLES, Project, write_project

GUARDS = ["config", "gold_gate", "prepare"]


def test_first_run_of_the_bundled_pack_publishes_four_rows_and_the_second_does_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for name in ("configs", "packs"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(REPOSITORY / "dodo.py", tmp_path / "dodo.py")
    run = tmp_path / "build" / "runs" / "tiny"
    first = project.generate()
    assert first.err == ""
    assert first.out.splitlines()[-2:] == [
        "shards: 28 computed, 0 taken from the store",
        str(run.resolve() / "benchmark.parquet"),
    ]
    manifest = (run / "run_manifest.json").read_bytes()
    assert json.loads(manifest)["publication"]["published"]["rows"] == 4
    second = project.generate()
    ran = [line.removeprefix(".  ") for line in second.out.splitlines() if line.startswith(".  ")]
    assert set(ran) <= set(GUARDS)
    assert second.out.splitlines()[-2:] == [
        "up to date: nothing changed since this release was published",
        str(run.resolve() / "benchmark.parquet"),
    ]
    assert (run / "run_manifest.json").read_bytes() == manifest


def test_rewording_a_template_computes_its_shards_only_and_leaves_other_rows_alone(built: Project) -> None:
    before = built.canonical_rows()
    built.edit(built.pack / "task_templates.yaml", "How is kiln {kiln_id} doing", "How does kiln {kiln_id} do")
    built.generate()
    computed = built.shards("computed")
    assert {name.partition(":")[2] for name in computed} == {"kiln_and_firing"}
    assert "executable_replay:kiln_and_firing" not in computed
    after = built.canonical_rows()
    assert list(after) == list(before)
    changed = {task_id for task_id in before if before[task_id] != after[task_id]}
    assert changed == {task_id for task_id in before if "__kiln_and_firing__" in task_id}


def test_comment_in_templates_gives_a_new_manifest_and_computes_no_shard(built: Project) -> None:
    before, tables = built.manifest(), built.tables()
    built.append(built.pack / "task_templates.yaml", "# nothing but a remark\n")
    ended = built.generate()
    assert ".  prepare" in ended.out
    assert ".  gold_gate" in ended.out
    assert built.shards("computed") == []
    after = built.manifest()
    assert after["pack"]["content_hash"] != before["pack"]["content_hash"]
    assert after["run_id"] != before["run_id"]
    assert built.tables() == tables


def test_readme_of_the_pack_recomputes_all_replays_and_no_wording(built: Project) -> None:
    tables = built.tables()
    built.append(built.pack / "README.md", "One more line.\n")
    built.generate()
    assert built.shards("computed") == [f"executable_replay:{name}" for name in sorted(BASE)]
    assert built.tables() == tables


def test_backend_edit_recomputes_replays_and_dependent_traces_and_no_wording(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", templates=("kiln_status", "last_firing"))
    project.generate()
    project.append(project.pack / "backend.py", "\n# another revision\n")
    project.generate()
    assert project.shards("computed") == [
        "executable_replay:kiln_status",
        "executable_replay:last_firing",
        "expected_trace:last_firing",
    ]


def test_copied_and_touched_project_without_doits_memory_does_nothing(original: Project, tmp_path: Path) -> None:
    moved = original.copy(tmp_path / "elsewhere" / "project")
    (moved.build / ".doit.db").unlink()
    stamp = time.time() + 5000
    for path in moved.root.rglob("*"):
        os.utime(path, (stamp, stamp), follow_symlinks=False)
    manifest = (moved.run_dir / "run_manifest.json").read_bytes()
    foreign = {"TZ": "Pacific/Kiritimati", "LANG": "C", "LC_ALL": "C", "PYTHONHASHSEED": "99"}
    moved.generate(env=foreign, before=lambda: os.umask(0o077))
    assert moved.shards("computed") == []
    assert (moved.run_dir / "run_manifest.json").read_bytes() == manifest


def test_copied_store_alone_serves_every_shard_of_a_new_publication(original: Project, tmp_path: Path) -> None:
    moved = original.copy(tmp_path / "project")
    (moved.build / ".doit.db").unlink()
    shutil.rmtree(moved.build / "runs")
    shutil.rmtree(moved.build / "refs")
    shutil.rmtree(moved.build / "log")
    moved.generate(env={"TZ": "Pacific/Kiritimati", "LANG": "C", "PYTHONHASHSEED": "99"})
    assert moved.shards("computed") == []
    assert moved.merges("computed") == []
    assert moved.tables() == original.tables()


def test_width_and_doits_own_threads_change_no_byte(original: Project, tmp_path: Path) -> None:
    ways = {"one": ("generate", "jobs=1"), "two": ("generate", "jobs=2"), "threads": ("-n", "2", "generate")}
    made = {}
    for name, arguments in ways.items():
        project = write_project(tmp_path / name)
        ended = project.doit(*arguments)
        assert ended.status == 0, ended.out + ended.err
        assert ended.last_line == str(project.run_dir / "benchmark.parquet")
        made[name] = project.tables()
    assert made["one"] == made["two"] == made["threads"] == original.tables()


def test_two_clean_builds_agree_on_everything_but_moment_and_host(original: Project, tmp_path: Path) -> None:
    other = write_project(tmp_path / "far" / "away")
    other.generate(
        env={"TZ": "America/St_Johns", "LANG": "C", "LC_ALL": "C", "PYTHONHASHSEED": "4242"},
        before=lambda: os.umask(0o077),
    )
    assert other.tables() == original.tables()
    one, two = original.manifest(), other.manifest()
    for manifest in (one, two):
        for name in ("run_id", "created_at", "runtime"):
            manifest.pop(name)
    assert one == two


def test_only_stage_changed_republishes_and_computes_no_shard(built: Project) -> None:
    before = built.manifest()
    ended = built.doit("all")
    assert ended.status == 0, ended.err
    assert ended.last_line == str(built.run_dir / "benchmark.parquet")
    after = built.manifest()
    assert built.shards("computed") == []
    assert after["run_id"] != before["run_id"]
    assert after["generation_config_hash"] != before["generation_config_hash"]


def test_edited_fixture_row_recomputes_what_binds_its_collection(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", put("fixtures.json", ("firings", 0, "outcome"), "fair"))
    project.generate()
    project.edit(project.pack / "fixtures.json", '"fair"', '"good"')
    project.generate()
    computed = project.shards("computed")
    expanded = {name.partition(":")[2] for name in computed if name.startswith("expand:")}
    assert expanded == {"kiln_and_firing"}
    assert len(project.rows()) == len({row["task_id"] for row in project.rows()}) == 10


def test_finished_run_leaves_no_temporary_file(original: Project) -> None:
    assert original.leftovers() == []
    assert list(original.temporary.iterdir()) == []


def test_six_stage_tables_carry_the_same_tasks_in_the_same_order(original: Project) -> None:
    ids = [[row["task_id"] for row in original.rows(name)] for name in TABLES]
    assert len(ids[0]) == 10
    assert all(one == ids[0] for one in ids)
