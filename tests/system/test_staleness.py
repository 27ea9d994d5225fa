"""No run serves what belongs to other inputs, whatever happened before it: kills, reverts, second backends, edits."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.packs import BACKEND, drop, put_template, replace
from tests.system.project import Project, write_project
from tests.system.test_interruption import logged


def flip(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])


def test_run_killed_on_another_pack_leaves_nothing_in_the_release_of_this_one(built: Project) -> None:
    before = built.tables()
    manifest = built.pack / "manifest.yaml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("version: '1.0'", "version: '2.0'").replace('version: "1.0"', 'version: "2.0"'))
    assert manifest.read_text(encoding="utf-8") != text
    running = built.start("generate")
    assert running.until(logged_after(built, "expand"))
    running.kill()
    manifest.write_text(text, encoding="utf-8")
    built.generate()
    assert built.tables() == before
    assert {row["pack_version"] for row in built.rows()} == {built.manifest()["pack"]["version"]}


def logged_after(project: Project, task: str):  # type: ignore[no-untyped-def]
    known = {path.name for path in (project.build / "log").iterdir()}
    return lambda: any(
        (path / f"{task}.json").exists() for path in (project.build / "log").iterdir() if path.name not in known
    )


def test_configured_backend_is_part_of_what_a_replay_depends_on(tmp_path: Path) -> None:
    # The last probe pins the number of a new firing, which is what the second backend changes.
    project = write_project(tmp_path / "project", drop("validation_cases.yaml", (-1,)))
    other = BACKEND.replace('"F-%d"', '"G-%d"')
    assert other != BACKEND
    (project.pack / "other.py").write_text(other, encoding="utf-8")
    project.generate()
    before = project.canonical_rows()
    project.configure(oracle_pack__backend_path=str(project.pack / "other.py"))
    project.generate()
    after = project.canonical_rows()
    assert before.keys() == after.keys()
    assert not any('"G-' in row.replace("\\", "") for row in before.values())
    assert any('"G-' in row.replace("\\", "") for row in after.values())


def test_warm_and_cold_manifests_of_another_command_agree(built: Project, tmp_path: Path) -> None:
    built.generate()
    assert built.doit("all").status == 0
    cold = write_project(tmp_path / "cold")
    assert cold.doit("all").status == 0
    ours, theirs = built.manifest(), cold.manifest()
    for one in (ours, theirs):
        for key in ("run_id", "created_at", "runtime"):
            del one[key]
    assert ours == theirs


def test_two_output_directories_of_one_configuration_do_not_disturb_each_other(built: Project) -> None:
    built.configure(output_dir=str(built.root / "elsewhere"))
    built.generate()
    built.configure()
    built.generate()
    assert built.doit("generate").status == 0


def test_pack_that_does_not_load_takes_the_old_manifest_with_it(built: Project) -> None:
    built.append(built.pack / "task_templates.yaml", "\t- [\n")
    ended = built.doit("generate")
    assert ended.status == 1
    assert "pack_parse_error" in ended.err
    assert built.published() == []


@pytest.mark.parametrize("stage", ["prepare", "oracle_view"])
def test_changed_preparation_is_refused_though_nothing_is_to_do(built: Project, stage: str) -> None:
    fp = built.pointers()[stage]["fp"]
    path = next(path for path in sorted((built.build / fp).rglob("*")) if path.is_file() and path.name != "record.json")
    flip(path)
    ended = built.doit("generate")
    assert ended.status == 1
    assert f"build_cache_tampered: build/{fp}/" in ended.err


def test_link_added_to_the_pack_is_seen_though_no_file_changed(built: Project) -> None:
    (built.pack / "link").symlink_to(built.pack / "README.md")
    ended = built.doit("generate")
    assert ended.status == 1
    assert "pack_tree_unsupported_entry" in ended.err


def test_timeout_is_not_remembered(tmp_path: Path) -> None:
    slow = "def _get_kiln(kiln_id):\n    import pathlib, time\n    time.sleep(600 if kiln_id == 'K-3' else 0)\n"
    project = write_project(
        tmp_path / "project",
        replace("backend.py", "def _get_kiln(kiln_id):\n", slow),
        put_template("kiln_unnamed", ("slots", "kiln_id", "source"), "literal:[K-1, K-3]"),
        templates=("kiln_unnamed", "out_of_scope"),
        oracle_runtime__tool_timeout_s=0.3,
    )
    project.generate()
    reasons = {row["detail"] for row in project.rows("stage_cache/replay_validated_tasks.parquet") if not row["valid"]}
    assert any("tool_timeout" in reason for reason in reasons)
    project.doit("clean", "publish")
    project.generate()
    again = {name for name in project.shards("computed") if name.startswith("executable_replay:")}
    assert "executable_replay:kiln_unnamed" in again
    assert "executable_replay:out_of_scope" not in again


def test_report_edited_during_the_run_is_not_vouched_for(built: Project) -> None:
    built.append(built.pack / "README.md", "Changed.\n")
    running = built.start("generate")
    assert running.until(logged_after(built, "prepare"))
    running.signal(signal.SIGSTOP)
    report = built.run_dir / "stage_cache" / "oracle_validation_report.json"
    report.write_text(report.read_text(encoding="utf-8").replace('"gold"', '"gilt"'), encoding="utf-8")
    running.signal(signal.SIGCONT)
    ended = running.end()
    assert ended.status == 1
    assert "build_cache_tampered: stage_cache/oracle_validation_report.json" in ended.err
    assert built.published() == []


def test_interrupt_during_replay_ends_at_once(tmp_path: Path) -> None:
    signature = "def assert_kiln_busy(*, state, trace, task, ctx):\n"
    hang = "    import time; time.sleep(0 if task['slots']['cone'] == 4 else 600)\n"
    project = write_project(
        tmp_path / "project",
        replace("assertions.py", signature, signature + hang),
        oracle_runtime__assertion_timeout_s=500.0,
        oracle_runtime__episode_timeout_s=500.0,
    )
    running = project.start("generate")
    assert running.until(logged(project, "schema_validation"))
    running.signal(signal.SIGINT)
    ended = running.end()
    assert ended.status != 0
    assert "Traceback" not in ended.err
    assert project.published() == []


@pytest.mark.parametrize(
    "edit",
    [{"random_seed": 8}, pytest.param({"lineage__policy": "smoke_no_publication"}, marks=pytest.mark.slow)],
    ids=["seed", "policy"],
)
def test_configuration_changed_and_changed_back_publishes_the_same_again(
    built: Project, edit: dict[str, object]
) -> None:
    built.configure()
    built.generate()
    before = built.tables()
    built.configure(**edit)
    built.generate()
    built.configure()
    built.generate()
    assert built.tables() == before
    assert built.shards("computed") == []


def test_unquoted_clock_is_refused_though_nothing_else_changed(built: Project) -> None:
    built.configure()
    built.generate()
    text = built.config.read_text(encoding="utf-8")
    built.config.write_text(text.replace("'2026-03-02T09:00:00+07:00'", "2026-03-02T09:00:00+07:00"), encoding="utf-8")
    unquoted = built.config.read_text(encoding="utf-8")
    if unquoted == text:  # the builder writes it plain: quote it for the good case
        built.config.write_text(text.replace("2026-03-02T09:00:00+07:00", '"2026-03-02T09:00:00+07:00"'), "utf-8")
        built.generate()
        built.config.write_text(text, encoding="utf-8")
    ended = built.doit("generate")
    assert ended.status == 1
    assert "generation_config_invalid: oracle_runtime.clock" in ended.err
    assert built.published() == ["run_manifest.json", "benchmark_raw.parquet", "benchmark.parquet"]


def test_file_name_that_is_not_utf_8_is_refused_in_words(built: Project) -> None:
    with open(os.fsencode(built.pack) + b"/\xff.txt", "wb"):  # noqa: PTH123 bytes, not text
        pass
    ended = built.doit("generate")
    assert ended.status == 1
    assert "pack_tree_unsupported_entry" in ended.err
    assert "Traceback" not in ended.out + ended.err


def test_pack_moved_out_of_the_roots_behind_a_link_is_refused(built: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    built.pack.rename(outside)
    built.pack.symlink_to(outside)
    ended = built.doit("generate")
    assert ended.status == 1
    assert "pack_outside_allowlist" in ended.err
