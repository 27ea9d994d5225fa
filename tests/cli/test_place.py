"""Which project and which run a command means."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bfcl.cli.place import project_root, searched_runs
from tests.cli import runs
from tests.cli.conftest import Ended
from tests.release import samples

Command = Callable[..., Ended]
SOUGHT = "build/runs/ and where configs/*.yaml and packs/*/validate.yaml write"
FIX = "  fix: run `doit generate` first, or name a run with `--run`\n"
ID = "plant__read_then_set__0000000000000001"


def write_config(project: Path, name: str, expt_name: str = "tiny", output_dir: str = "../build/runs") -> None:
    pack = project / "packs" / "p"
    pack.mkdir(parents=True, exist_ok=True)
    (pack / "manifest.yaml").touch()
    path = project / "configs" / name
    path.parent.mkdir(exist_ok=True)
    settings = {
        "family": "bfcl",
        "expt_name": expt_name,
        "output_dir": output_dir,
        "oracle_pack": {"manifest_path": "../packs/p/manifest.yaml"},
        "oracle_runtime": {"clock": "2026-01-01T00:00:00+00:00"},
        "lineage": {"policy": "smoke_no_publication"},
    }
    path.write_text(yaml.safe_dump(settings))


def run_line(said: Ended) -> str:
    """Which run the trace says it read."""
    assert (said.status, said.err) == (0, "")
    return next(line for line in said.out.splitlines() if line.startswith("run "))


def test_default_is_the_run_of_the_tiny_configuration(bfcl: Command, project: Path) -> None:
    write_config(project, "tiny.yaml")
    for name in ("tiny", "other"):
        runs.good_run(project / "build" / "runs" / name)
    assert run_line(bfcl("trace", "--format", "text", ID)) == "run        build/runs/tiny"


def test_default_is_the_only_run_where_the_tiny_configuration_is_not_built(bfcl: Command, project: Path) -> None:
    write_config(project, "tiny.yaml")
    runs.good_run(project / "build" / "runs" / "other")
    assert run_line(bfcl("trace", "--format", "text", ID)) == "run        build/runs/other"


def test_several_runs_that_know_the_task_are_listed_behind_the_first(bfcl: Command, project: Path) -> None:
    write_config(project, "mine.yaml", expt_name="mine", output_dir="../elsewhere")
    for name in ("build/runs/b", "build/runs/a", "elsewhere/mine"):
        runs.good_run(project / name)
    said = bfcl("trace", "--format", "text", ID)
    assert ("run        build/runs/a\nalso in    build/runs/b (--run)\n           elsewhere/mine (--run)\n") in said.out
    document = json.loads(bfcl("trace", ID, "--json").out)
    assert (document["run"], document["also_in"]) == ("build/runs/a", ["build/runs/b", "elsewhere/mine"])


def test_task_is_found_in_the_only_run_that_knows_it(bfcl: Command, project: Path) -> None:
    write_config(project, "mine.yaml", expt_name="mine", output_dir="../elsewhere")
    runs.good_run(project / "build" / "runs" / "tiny", 1)
    runs.good_run(project / "elsewhere" / "mine", 3)
    said = bfcl("trace", "--format", "text", "0003")
    assert run_line(said) == "run        elsewhere/mine"
    assert "also in" not in said.out


def test_end_of_an_id_that_two_runs_complete_differently_is_ambiguous(bfcl: Command, project: Path) -> None:
    for name, task_id in (("a", "plant__x__01"), ("b", "plant__y__01")):
        runs.write_run(project / "build" / "runs" / name, [runs.records(runs.renamed(samples.task(1), task_id))])
    said = (
        "ambiguous_task_id: 01: 2 tasks of 2 runs (build/runs/a, build/runs/b) begin or end with it: "
        "`plant__x__01`, `plant__y__01`\n  fix: give more of the id\n"
    )
    assert bfcl("trace", "--format", "text", "01") == (1, "", said)


def test_id_that_no_run_knows_is_refused_with_all_runs_named(bfcl: Command, project: Path) -> None:
    for name in ("b", "a"):
        runs.good_run(project / "build" / "runs" / name, 2)
    said = bfcl("trace", "--format", "text", "zzz")
    assert said.err.splitlines()[0] == (
        "unknown_task_id: zzz: none of the 2 tasks of 2 runs (build/runs/a, build/runs/b) has this id, "
        "or begins or ends with it"
    )


def test_damaged_table_of_another_run_hides_no_task_and_is_told_where_none_is_found(
    bfcl: Command, project: Path
) -> None:
    runs.good_run(project / "build" / "runs" / "b")
    damaged = runs.good_run(project / "build" / "runs" / "a")
    (damaged.stage_cache / "task_instances.parquet").write_bytes(b"PAR1")
    assert run_line(bfcl("trace", "--format", "text", ID)) == "run        build/runs/b"
    said = bfcl("trace", "--format", "text", "zzz")
    assert said.status == 1
    assert said.err.startswith("table_unreadable: task_instances.parquet: cannot be read: ")


def test_project_without_a_run_is_refused(bfcl: Command, project: Path) -> None:
    write_config(project, "tiny.yaml")
    (project / "build" / "runs" / "empty").mkdir(parents=True)
    said = f"run_not_found: .: no run with stage tables was found in {SOUGHT}\n{FIX}"
    assert bfcl("trace", "--format", "text", ID) == (1, "", said)


def test_config_names_the_run_from_the_current_directory(
    bfcl: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(project, "mine.yaml", expt_name="mine", output_dir="../elsewhere")
    (project / "dodo.py").touch()
    runs.good_run(project / "elsewhere" / "mine")
    monkeypatch.chdir(project / "configs")
    assert (
        run_line(bfcl("trace", "--format", "text", ID, "--config", "mine.yaml"))
        == f"run        {project}/elsewhere/mine"
    )


def test_config_of_a_run_that_is_not_built_is_refused(bfcl: Command, project: Path) -> None:
    write_config(project, "mine.yaml", expt_name="mine")
    said = f"run_not_found: build/runs/mine: holds no stage_cache/task_instances.parquet\n{FIX}"
    assert bfcl("trace", "--format", "text", ID, "--config", "configs/mine.yaml") == (1, "", said)


def test_config_that_is_no_configuration_is_refused_with_its_own_problems(bfcl: Command, project: Path) -> None:
    said = bfcl("trace", "--format", "text", ID, "--config", "gone.yaml")
    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "gone.yaml: generation_config_invalid: "
        "cannot be read: No such file or directory; expected a run configuration\n"
        "  fix: name one with `config=PATH`\n"
    )


def test_run_may_stand_anywhere(bfcl: Command, project: Path, tmp_path: Path) -> None:
    runs.good_run(tmp_path / "copied")
    assert run_line(bfcl("trace", "--format", "text", ID, "--run", "../copied")) == "run        ../copied"


def test_run_without_tables_is_refused(bfcl: Command, project: Path) -> None:
    said = f"run_not_found: far/gone: holds no stage_cache/task_instances.parquet\n{FIX}"
    assert bfcl("trace", "--format", "text", ID, "--run", "far/gone") == (1, "", said)


def test_run_beside_a_pack_that_brings_its_configuration_is_searched(bfcl: Command, project: Path) -> None:
    own = project / "packs" / "desk" / "validate.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("output_dir: ../desk_output\nexpt_name: smoke\n")
    runs.good_run(project / "packs" / "desk_output" / "smoke")
    assert run_line(bfcl("trace", "--format", "text", ID)) == "run        packs/desk_output/smoke"


def test_run_is_meant_by_its_name_or_its_run_id_where_no_such_directory_is(bfcl: Command, project: Path) -> None:
    write_config(project, "mine.yaml", expt_name="mine", output_dir="../far")
    published = samples.published(project / "far" / "mine", 2, rejected=())
    run_id = json.loads((published / "run_manifest.json").read_bytes())["run_id"]
    for name in ("mine", run_id):
        assert json.loads(bfcl("verify", name).out)["run"] == "far/mine"
    runs.good_run(project / "mine", 1)
    assert run_line(bfcl("trace", "--format", "text", ID, "--run", "mine")) == "run        mine"


def test_name_of_two_runs_is_ambiguous_and_of_none_is_told_with_what_was_looked_at(
    bfcl: Command, project: Path
) -> None:
    write_config(project, "mine.yaml", expt_name="a", output_dir="../far")
    for name in ("build/runs/a", "far/a"):
        runs.good_run(project / name)
    assert bfcl("trace", "--format", "text", ID, "--run", "a").err == (
        "run_ambiguous: a: 2 runs have this name: build/runs/a, far/a; expected one\n"
        "  fix: give the path of one, such as build/runs/a\n"
    )
    assert bfcl("trace", "--format", "text", ID, "--run", "b").err == (
        "run_not_found: b: no such directory, and no run of this project has this name or run id; looked for in "
        f"{SOUGHT}: build/runs/a, far/a\n"
        "  fix: run `doit generate` first, or give the path of a run directory\n"
    )


def test_project_root_is_the_nearest_directory_with_a_dodo(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "a" / "dodo.py").touch()
    (tmp_path / "dodo.py").touch()
    assert project_root(below) == tmp_path / "a"


def test_project_root_without_a_dodo_is_where_one_stands() -> None:
    assert project_root(Path("/no/such/place")) == Path("/no/such/place")


def test_searched_runs_are_those_with_tables(project: Path) -> None:
    for name in ("b", "a"):
        runs.good_run(project / "build" / "runs" / name, 1)
    (project / "build" / "runs" / "c").touch()
    assert [run.root.name for run in searched_runs(project)] == ["a", "b"]
