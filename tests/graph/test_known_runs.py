"""Which run directories a project has, and in which order they are looked at."""

from __future__ import annotations

from pathlib import Path

from bfcl.graph.known_runs import configurations, known_runs


def write_config(path: Path, name: str, output: str = "../build/runs") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"expt_name: {name}\noutput_dir: {output}\n")


def test_runs_come_in_the_order_default_build_other_configurations(tmp_path: Path) -> None:
    write_config(tmp_path / "configs" / "tiny.yaml", "z")
    write_config(tmp_path / "configs" / "b.yaml", "b", "../far")
    write_config(tmp_path / "configs" / "a.yaml", "a", "../far")
    for name in ("z", "y", "x"):
        (tmp_path / "build" / "runs" / name).mkdir(parents=True)
    found = known_runs(tmp_path)
    names = [run.root.relative_to(tmp_path).as_posix() for run in found.runs]
    assert names == ["build/runs/z", "build/runs/x", "build/runs/y", "far/a", "far/b"]
    assert (found.runless, found.unreadable) == ((), ())
    assert sorted(found.digests.values()) == [tmp_path / "configs" / f"{name}.yaml" for name in ("a", "b", "tiny")]


def test_run_that_a_pack_names_itself_comes_last(tmp_path: Path) -> None:
    write_config(tmp_path / "packs" / "desk" / "validate.yaml", "smoke", "../desk_output")
    write_config(tmp_path / "configs" / "a.yaml", "a")
    names = [run.root.relative_to(tmp_path).as_posix() for run in known_runs(tmp_path).runs]
    assert names == ["build/runs/a", "packs/desk_output/smoke"]


def test_run_that_two_configurations_name_through_a_link_comes_once(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    write_config(tmp_path / "configs" / "a.yaml", "a", "../far")
    write_config(tmp_path / "configs" / "b.yaml", "a", "../near")
    assert [run.root for run in known_runs(tmp_path).runs] == [tmp_path / "far" / "a"]


def test_configurations_that_name_no_run_and_those_that_cannot_be_read_are_told_apart(tmp_path: Path) -> None:
    broken, silent, lost = (tmp_path / "configs" / f"{name}.yaml" for name in ("broken", "silent", "lost"))
    write_config(silent, "''")
    broken.write_text("- [\n")
    lost.symlink_to(tmp_path / "nowhere.yaml")
    found = known_runs(tmp_path)
    assert (found.runs, found.runless, found.unreadable) == ((), (silent,), (broken, lost))
    assert list(found.digests.values()) == [silent]


def test_configurations_of_evaluations_are_not_asked_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "eval.cli.yaml").write_text("family: bfcl\nstage: eval\neval_config_path: eval.yaml\n")
    (tmp_path / "configs" / "eval.yaml").write_text("source_run_manifest: ../build/runs/a/run_manifest.json\n")
    (tmp_path / "configs" / "short.yaml").write_text("eval_config_path: eval.yaml\n")
    (tmp_path / "configs" / "template.yaml").write_text("candidates: []\n")
    found = known_runs(tmp_path)
    assert (found.runs, found.runless, found.unreadable) == ((), (), ())


def test_project_without_configurations_and_build_has_no_run(tmp_path: Path) -> None:
    assert known_runs(tmp_path).runs == ()
    assert configurations(tmp_path / "configs") == []
