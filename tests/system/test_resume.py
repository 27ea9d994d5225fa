"""`skip_until=STAGE` with real doit: the same release from any stage on, and nothing touched where it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bfcl.release.verify import verify_release
from bfcl.stages import enabled_stages
from tests.packs import add_template, held_out, put
from tests.system.project import PUBLISHED, Project, write_project

STAGES = enabled_stages(())
NAMES = [stage.name for stage in STAGES]
SHARDED = {stage.name for stage in STAGES if stage.sharded}
LISTED = ", ".join(NAMES)
WHOLE = ["run_manifest.json", *PUBLISHED]
WHOLE_RUN = "leave `skip_until=` out: that run takes what still holds from the store"


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project published by `doit all`; never to be changed."""
    project = write_project(tmp_path_factory.mktemp("resume") / "complete")
    ended = project.doit("all")
    assert ended.status == 0, ended.err
    return project


@pytest.fixture
def project(complete: Project, tmp_path: Path) -> Project:
    return complete.copy(tmp_path / "project")


def resumed(project: Project, stage: str) -> None:
    """A resumed run, which must succeed."""
    ended = project.doit("all", f"skip_until={stage}")
    assert ended.status == 0, ended.out + ended.err


def refused(project: Project, *arguments: str) -> list[str]:
    """The problems of a run that must refuse and touch nothing."""
    before = project.snapshot()
    ended = project.doit(*arguments)
    assert ended.status == 1, ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err
    assert project.snapshot() == before
    return ended.blocks


def checkpoints(project: Project) -> dict[str, bytes]:
    return project.snapshot("build/runs/trial/stage_cache/checkpoints")


@pytest.mark.parametrize(
    "stages",
    [pytest.param(("expand", "executable_replay", "final_output")), pytest.param(NAMES, marks=pytest.mark.slow)],
    ids=["some", "every"],
)
def test_run_resumed_at_any_stage_gives_the_same_tables_and_the_same_chain(
    complete: Project, project: Project, stages: Sequence[str]
) -> None:
    tables, chain = complete.tables(), checkpoints(complete)
    assert len(chain) == 2 * len(NAMES)
    runs = {complete.manifest()["run_id"]}
    for stage in stages:
        number = NAMES.index(stage)
        resumed(project, stage)
        assert project.tables() == tables
        assert checkpoints(project) == chain
        assert project.published() == WHOLE
        computed = {name.partition(":")[0] for name in project.shards("computed")}
        assert computed & SHARDED == {one.name for one in STAGES[number:] if one.sharded}
        assert project.shards("hit") == []
        assert project.merges("verified") == sorted(NAMES[:number])
        runs.add(project.manifest()["run_id"])
    assert len(runs) == len(stages) + 1
    verify_release(project.run_dir)
    assert project.leftovers() == []
    before = project.snapshot()
    assert project.doit("all").out.splitlines()[-2] == "up to date: nothing changed since this release was published"
    assert project.snapshot() == before


def test_run_of_another_command_or_at_no_stage_is_refused(project: Project) -> None:
    assert refused(project, "generate", "skip_until=render") == [
        "stage_resume_invalid: command: the checkpoints are those of `doit all`, this is `doit generate`\n"
        f"  fix: run `doit all skip_until=render`, or {WHOLE_RUN}"
    ]
    assert refused(project, "all", "skip_until=publish") == [
        f"stage_resume_invalid: skip_until: a run cannot be resumed at `publish`; its stages are {LISTED}\n"
        "  fix: name one of these stages"
    ]


def test_refused_target_makes_nothing_in_a_fresh_project_and_the_first_stage_needs_no_chain(
    complete: Project, fresh: Project
) -> None:
    assert fresh.doit("all", "skip_until=surface_quality").status == 1
    assert not fresh.run_dir.exists()
    resumed(fresh, "reference_profile")
    assert fresh.tables() == complete.tables()
    assert checkpoints(fresh) == checkpoints(complete)


def test_run_from_the_first_stage_leaves_no_checkpoint_of_a_stage_that_is_bypassed_by_now(
    complete: Project, project: Project
) -> None:
    project.configure(surface_quality_validation__enabled=True)
    assert project.doit("all").status == 0
    assert any(
        name.startswith("build/runs/trial/stage_cache/checkpoints/surface_quality/") for name in checkpoints(project)
    )
    switched_on = project.snapshot("build/runs/trial/stage_cache")
    project.configure()
    resumed(project, "reference_profile")
    assert checkpoints(project) == checkpoints(complete)
    assert "up to date" in project.doit("all").out
    # A whole run begins a chain of its own just the same.
    project.configure(surface_quality_validation__enabled=True)
    assert project.doit("all").status == 0
    assert project.snapshot("build/runs/trial/stage_cache").keys() == switched_on.keys()
    project.configure()
    assert project.doit("all").status == 0
    assert checkpoints(project) == checkpoints(complete)
    assert "up to date" in project.doit("all").out


def test_edited_chain_is_refused_and_deleting_it_makes_a_new_one_from_stored_results(
    complete: Project, project: Project
) -> None:
    root = project.run_dir / "stage_cache" / "checkpoints"
    manifest = root / "expand" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes())))
    assert refused(project, "all", "skip_until=render") == [
        "stage_resume_invalid: stage_cache/checkpoints/expand/manifest.json: has changed since it was written\n"
        f"  fix: delete {root} and leave `skip_until=` out: that run takes what still holds from the store and writes "
        "the checkpoints again"
    ]
    assert refused(project, "all") == [
        "build_cache_tampered: stage_cache/checkpoints/expand/manifest.json: has changed since it was written\n"
        f"  fix: delete {root}; the next run writes the checkpoints again"
    ]
    manifest.unlink()
    assert project.doit("all").status == 0
    assert project.shards("computed") == []
    assert checkpoints(project) == checkpoints(complete)
    resumed(project, "final_output")


def moment(project: Project, task: str) -> Callable[[], bool]:
    """Whether the newest invocation has finished a task."""
    seen = set((project.build / "log").glob("*"))
    return lambda: any((path / f"{task}.json").exists() for path in set((project.build / "log").glob("*")) - seen)


@pytest.mark.parametrize(
    "task",
    [
        pytest.param("prepare", marks=pytest.mark.slow),
        "render",
        pytest.param("executable_replay", marks=pytest.mark.slow),
        "final_output",
    ],
)
def test_killed_resumed_run_can_be_resumed_again(complete: Project, project: Project, task: str) -> None:
    running = project.start("all", "skip_until=render")
    assert running.until(moment(project, task))
    running.kill()
    assert project.published() in ([], WHOLE)
    resumed(project, "render")
    assert project.tables() == complete.tables()
    assert project.published() == WHOLE
    assert project.leftovers() == []


def test_killed_run_is_resumed_where_it_was(complete: Project, fresh: Project) -> None:
    running = fresh.start("all")
    assert running.until(moment(fresh, "schema_validation"))
    running.kill()
    resumed(fresh, "executable_replay")
    assert fresh.tables() == complete.tables()
    assert checkpoints(fresh) == checkpoints(complete)


def test_run_under_a_held_out_policy_is_resumed(tmp_path: Path) -> None:
    kiln = {"kiln_id": "K-8", "zone": "attic", "status": "idle", "recent_firings": []}
    secret = (
        add_template("secret_scope", like="out_of_scope", intent="secret_intent"),
        put("fixtures.json", ("kilns", "-"), kiln),
        held_out({"kilns": ["K-8"]}, ["secret_scope"]),
    )
    project = write_project(tmp_path / "project", *secret, task_generation__tasks_per_category=2)
    assert project.doit("all").status == 0
    tables, chain = project.tables(), checkpoints(project)
    shown = project.snapshot("build/runs/trial/stage_cache")
    for stage in ("state_machine", "final_output"):
        resumed(project, stage)
        assert project.tables() == tables
        assert checkpoints(project) == chain
        assert project.snapshot("build/runs/trial/stage_cache") == shown


def test_parallel_tasks_leave_the_same_chain(complete: Project, project: Project) -> None:
    project.append(project.pack / "README.md", "Changed.\n")
    assert project.doit("run", "-n", "2", "all").status == 0
    parallel = checkpoints(project)
    assert project.doit("all", "rebuild=1").status == 0
    assert checkpoints(project) == parallel
    assert parallel.keys() == checkpoints(complete).keys()
