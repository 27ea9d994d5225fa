"""What every command promises: status, streams, and what it leaves alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bfcl.stages import STAGES
from tests.packs import append
from tests.system.project import Project, write_project

STAGE_NAMES = [stage.name for stage in STAGES if stage.switch is None]
PIPELINE = ["config", "validate", "prepare", "gold_gate", *STAGE_NAMES, "publish", "generate", "all", "eval"]


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.name != "__pycache__")


def break_nothing(project: Project) -> None:
    pass


def break_config(project: Project) -> None:
    project.config.write_text("family: [\n", encoding="utf-8")


def drop_config(project: Project) -> None:
    project.config.unlink()


def drop_pack(project: Project) -> None:
    shutil.rmtree(project.pack)


@pytest.mark.parametrize("damage", [break_nothing, break_config, drop_config, drop_pack])
def test_list_and_info_on_a_fresh_checkout_write_nothing_and_run_no_pack_code(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    marker = tmp_path / "imported"
    project = write_project(tmp_path / "project", append("backend.py", f"\nopen({str(marker)!r}, 'w').close()\n"))
    damage(project)
    before = project.snapshot("configs", "packs")
    listed = project.doit("list", "--all", "-s")
    assert (listed.status, listed.err) == (0, "")
    assert [line.split()[1] for line in listed.out.splitlines()] == PIPELINE
    told = project.doit("info", "executable_replay")
    assert told.err == ""
    assert "executable_replay" in told.out
    assert project.snapshot("configs", "packs") == before
    assert names(project.root) == ["configs", "dodo.py", "packs"]
    assert not marker.exists()


def test_list_reads_like_the_pipeline(original: Project) -> None:
    ended = original.doit("list")
    assert [line.split()[0] for line in ended.out.splitlines()] == PIPELINE


def test_prepare_prints_tier_and_publishes_nothing(fresh: Project) -> None:
    ended = fresh.doit("prepare")
    report = fresh.run_dir / "stage_cache" / "oracle_validation_report.json"
    assert (ended.status, ended.err) == (0, "")
    assert f"prepare: gold; failed checks: none; report: {report}\n" in ended.out
    assert fresh.published() == []


def test_prepare_leaves_a_publication_of_the_same_inputs_alone(built: Project) -> None:
    manifest = (built.run_dir / "run_manifest.json").read_bytes()
    assert built.doit("prepare").status == 0
    assert (built.run_dir / "run_manifest.json").read_bytes() == manifest
    built.generate()
    assert (built.run_dir / "run_manifest.json").read_bytes() == manifest


def test_prepare_withdraws_a_publication_of_other_inputs(built: Project) -> None:
    built.append(built.pack / "README.md", "Changed.\n")
    assert built.doit("prepare").status == 0
    assert built.published() == []


def test_forget_makes_nothing_recompute(built: Project) -> None:
    assert built.doit("forget", "expand", "publish").status == 0
    shutil.rmtree(built.run_dir)
    built.generate()
    assert built.shards("computed") == []


def test_clean_of_a_stage_takes_pointer_entries_and_copies_and_keeps_the_publication(built: Project) -> None:
    pointer = built.pointers()["render"]
    ended = built.doit("clean", "render")
    assert ended.status == 0
    gone = [pointer["fp"], *(shard["fp"] for shard in pointer["shards"])]
    assert not any((built.build / fp).exists() for fp in gone)
    assert "render" not in built.pointers()
    assert not (built.run_dir / "stage_cache" / "rendered_conversations.parquet").exists()
    assert built.published() == ["run_manifest.json", "benchmark_raw.parquet", "benchmark.parquet"]
    built.generate()
    assert {name.partition(":")[0] for name in built.shards("computed")} == {"render"}


def test_clean_dry_run_changes_nothing(built: Project) -> None:
    before = built.snapshot()
    ended = built.doit("clean", "-n", "-a")
    assert ended.status == 0
    assert f"would remove {built.run_dir / 'run_manifest.json'}\n" in ended.out
    assert built.snapshot() == before


def test_clean_publish_withdraws_the_publication_and_keeps_every_result(built: Project) -> None:
    ended = built.doit("clean", "publish")
    assert ended.status == 0
    assert built.published() == []
    built.generate()
    assert built.shards("computed") == []
    assert built.merges("computed") == []
    assert built.published() == ["run_manifest.json", "benchmark_raw.parquet", "benchmark.parquet"]


@pytest.mark.parametrize(
    ("argument", "block"),
    [
        (
            "skip_until=prepare",
            "stage_resume_invalid: skip_until: a run cannot be resumed at `prepare`; its stages are "
            f"{', '.join(STAGE_NAMES)}\n  fix: name one of these stages",
        ),
        (
            "pack=packs/studio",
            "unsupported_config_feature: pack: `doit generate` does not take this variable; only `doit validate` does\n"
            "  fix: name a configuration with `config=`: it names the pack",
        ),
        (
            "job=2",
            "unsupported_config_feature: job: no command of this release takes this variable\n"
            "  fix: did you mean `jobs`?",
        ),
        (
            "jobs=0",
            "generation_config_invalid: jobs: jobs='0' given; expected a whole number from 1 to 9999\n"
            "  fix: write `jobs=2` or leave it out",
        ),
        (
            "jobs=many",
            "generation_config_invalid: jobs: jobs='many' given; expected a whole number from 1 to 9999\n"
            "  fix: write `jobs=2` or leave it out",
        ),
        (
            "rebuild=yes",
            "generation_config_invalid: rebuild: rebuild='yes' given; expected 1\n"
            "  fix: write `rebuild=1` or leave it out",
        ),
        (
            "replay=half",
            "generation_config_invalid: replay: replay='half' given; expected full\n"
            "  fix: write `replay=full` or leave it out",
        ),
    ],
)
def test_unknown_or_malformed_variable_is_refused_and_touches_nothing(
    original: Project, argument: str, block: str
) -> None:
    before = original.snapshot()
    ended = original.doit("generate", argument)
    assert ended.status == 1
    assert ended.blocks == [block]
    assert original.snapshot() == before


def test_several_bad_variables_are_told_at_once(original: Project) -> None:
    ended = original.doit("generate", "jobs=0", "until=x", "tier=gold")
    assert ended.status == 1
    assert [block.split(":")[1].strip() for block in ended.blocks] == ["tier", "until", "jobs"]


def test_config_resolves_against_the_shells_directory(built: Project) -> None:
    inner = built.root / "configs" / "inner"
    inner.mkdir()
    ended = built.doit("-f", "../../dodo.py", "-d", "../..", "config=../tiny.yaml", "generate", cwd=inner)
    assert ended.status == 0, ended.out + ended.err
    assert ended.last_line == str(built.run_dir / "benchmark.parquet")
    ended = built.doit("--seek-file", "config=../tiny.yaml", "generate", cwd=inner)
    assert ended.status == 0, ended.out + ended.err
    assert ended.last_line == str(built.run_dir / "benchmark.parquet")
    assert names(inner) == []


def test_refusal_under_doits_own_threads_is_told_once(fresh: Project) -> None:
    (fresh.pack / "tools.json").unlink()
    ended = fresh.doit("-n", "2", "generate")
    assert ended.status == 1
    assert len(ended.blocks) == 1
    assert "pack_file_missing" in ended.err


@pytest.mark.parametrize("name", ['ünï "cödé" x', "-dash"])
def test_project_may_lie_anywhere(original: Project, tmp_path: Path, name: str) -> None:
    moved = original.copy(tmp_path / name)
    moved.append(moved.pack / "README.md", "Changed.\n")
    ended = moved.generate()
    assert ended.last_line == str(moved.run_dir / "benchmark.parquet")


def test_unknown_task_is_an_unusable_command_line(original: Project) -> None:
    ended = original.doit("generrate")
    assert ended.status == 3
    assert ended.err.startswith('ERROR: Invalid parameter: "generrate".')


def test_default_command_generates(built: Project) -> None:
    ended = built.doit()
    assert ended.status == 0
    assert ended.last_line == str(built.run_dir / "benchmark.parquet")


def test_two_configurations_share_results_and_keep_their_own_publications(built: Project) -> None:
    manifest = (built.run_dir / "run_manifest.json").read_bytes()
    other = built.config.with_name("other.yaml")
    other.write_text(built.config.read_text().replace("expt_name: trial", "expt_name: second"), encoding="utf-8")
    ended = built.doit("generate", "config=configs/other.yaml")
    assert ended.status == 0, ended.err
    assert ended.last_line == str(built.build / "runs" / "second" / "benchmark.parquet")
    # Every row says which experiment it belongs to.
    assert {name.partition(":")[0] for name in built.shards("computed")} == {"final_output"}
    assert (built.run_dir / "run_manifest.json").read_bytes() == manifest
    built.generate()
    assert (built.run_dir / "run_manifest.json").read_bytes() == manifest


def test_published_files_are_readable_by_others_under_any_umask(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", templates=("kiln_status",))
    project.generate(before=lambda: os.umask(0o077))
    for name in project.published():
        assert (project.run_dir / name).stat().st_mode & 0o777 == 0o644, name


def test_clean_of_a_fresh_checkout_with_a_broken_configuration_ends_well(fresh: Project) -> None:
    break_config(fresh)
    ended = fresh.doit("clean", "-a")
    assert (ended.status, ended.err) == (0, "")


def test_clean_all_leaves_logs_locks_and_checkpoints_only_and_the_next_run_publishes(built: Project) -> None:
    tables = built.tables()
    assert built.doit("clean", "-a").status == 0
    left = {name for name in built.snapshot("build") if not name.endswith((".lock", ".views.json"))}
    assert {name for name in left if "/stage_cache/checkpoints/" not in name} == set()
    built.generate()
    assert built.tables() == tables


@pytest.mark.parametrize("damage", [break_config, drop_config])
def test_refused_configuration_on_a_fresh_checkout_says_so_once(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    project = write_project(tmp_path / "project")
    damage(project)
    ended = project.doit("generate")
    assert ended.status == 1
    assert len(ended.blocks) == 1
    assert "generation_config_invalid" in ended.err


@pytest.mark.parametrize("content", ["", "garbage", '{"expand": {"a', "[1]", '{"expand": 7}'])
def test_broken_database_of_doit_is_as_good_as_none(built: Project, content: str) -> None:
    (built.build / ".doit.db").write_text(content)
    assert built.doit("list", "--all", "-s").status == 0
    built.generate()
    assert built.shards("computed") == []


@pytest.mark.parametrize("command", [("forget", "expand"), ("clean", "-n", "-a"), ("ignore", "expand")])
def test_housekeeping_on_a_fresh_checkout_ends_well(fresh: Project, command: tuple[str, ...]) -> None:
    ended = fresh.doit(*command)
    assert (ended.status, ended.err) == (0, "")


def test_clean_dry_run_on_a_fresh_checkout_writes_nothing(fresh: Project) -> None:
    fresh.doit("clean", "-n", "-a")
    assert names(fresh.root) == ["configs", "dodo.py", "packs"]


def test_ignored_stage_never_ends_in_the_path_of_a_benchmark_that_is_not_there(built: Project) -> None:
    built.doit("ignore", "expand")
    built.append(built.pack / "README.md", "Changed.\n")
    ended = built.doit("generate")
    assert ended.last_line != str(built.run_dir / "benchmark.parquet")


@pytest.mark.parametrize("value", ["", "configs", "packs/studio/tools.json"])
def test_config_that_names_no_configuration_is_refused_on_a_fresh_checkout(fresh: Project, value: str) -> None:
    ended = fresh.doit("generate", f"config={value}")
    assert ended.status == 1
    assert "Traceback" not in ended.err
    assert "generation_config_invalid" in ended.err


def test_prepare_shows_warnings_which_change_no_verdict(built: Project) -> None:
    built.configure(oracle_runtime__clock="2026-03-03T09:00:00+07:00")
    built.append(built.pack / "manifest.yaml", "clock: '2026-03-02T09:00:00+07:00'\n")
    ended = built.doit("prepare")
    assert ended.status == 0
    assert "prepare: gold; failed checks: none" in ended.out
    (line,) = [line for line in ended.out.splitlines() if "manifest_clock_differs" in line]
    assert line.startswith("warning: packs/studio/manifest.yaml:")


def test_a_reader_that_goes_away_does_not_stop_the_build(fresh: Project) -> None:
    command = subprocess.Popen(
        fresh.command("generate"),
        cwd=fresh.root,
        env=fresh.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with command as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == ".  config\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
    assert "run_manifest.json" in fresh.published()


def test_commands_of_a_refusal_name_the_configuration_that_was_refused(built: Project) -> None:
    other = built.config.with_name("other.yaml")
    other.write_text(built.config.read_text().replace("expt_name: trial", "expt_name: second"), encoding="utf-8")
    assert built.doit("generate", "config=configs/other.yaml").status == 0
    manifest = built.build / "runs" / "second" / "run_manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    ended = built.doit("generate", "config=configs/other.yaml")
    assert ended.blocks == [
        "build_cache_tampered: run_manifest.json: has changed since it was published\n"
        "  fix: `doit clean publish config=configs/other.yaml` withdraws the publication, the next run publishes again"
    ]
    before = built.published()
    assert built.doit("clean", "publish", "config=configs/other.yaml").status == 0
    assert not manifest.exists()
    assert built.published() == before
