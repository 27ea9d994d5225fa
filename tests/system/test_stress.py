"""The build under stress: whatever happens around it, a run ends in the same bytes or in one clear refusal.

Kills at random instants of a domain-scale run are a soak run: `BFCL_KILLS=50 pytest -m slow tests/system`, of the
publication with `BFCL_KILLED=banking_vn.publication` besides, and `-s` tells of each project.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import islice
from pathlib import Path

import pytest

from bfcl.errors import ReleaseError
from bfcl.release.verify import verify_release
from tests.packs import BASE, replace
from tests.system.faults import (
    WHOLE,
    Elsewhen,
    Survived,
    become_nobody,
    grow_disk,
    moments,
    nobody_can_run_python,
    open_directory,
    own_all,
    small_disk,
    survive,
    undisturbed,
    write_banking,
)
from tests.system.project import Project, write_project

KILLS = int(os.environ.get("BFCL_KILLS", "0"))
KILLED = os.environ.get("BFCL_KILLED", "banking_vn")
FULL = "  fix: free space or make the directory writable, then run the same command again"


# --- kills --------------------------------------------------------------------------------------------------------


def test_runs_killed_in_a_row_at_random_moments_lose_nothing_that_was_finished(tmp_path: Path) -> None:
    spans, tables = undisturbed(write_project(tmp_path / "reference"))
    project = write_project(tmp_path / "project")
    assert survive(project, list(islice(moments(11, spans), 3)), tables).kills > 0


def test_killed_replacement_of_a_release_ends_in_the_new_one(original: Project, tmp_path: Path) -> None:
    def reworded(root: Path) -> Project:
        project = original.copy(root)
        project.edit(project.pack / "task_templates.yaml", "How is kiln {kiln_id} doing", "How does kiln {kiln_id} do")
        return project

    spans, tables = undisturbed(reworded(tmp_path / "reference"))
    survive(reworded(tmp_path / "project"), list(islice(moments(12, spans), 2)), tables)
    assert tables != original.tables()


@pytest.mark.slow
@pytest.mark.skipif(not KILLS, reason="BFCL_KILLS says how many runs to kill")
def test_banking_run_killed_at_random_moments_always_ends_in_the_same_release(tmp_path: Path) -> None:
    spans, tables = undisturbed(write_banking(tmp_path / "reference", KILLED))
    chosen = moments(50, spans)
    found: list[Survived] = []
    while sum(each.kills for each in found) < KILLS:
        project = write_banking(tmp_path / str(len(found)), KILLED)
        # Every fourth project meets several kills before it may finish.
        found.append(survive(project, list(islice(chosen, 3 if len(found) % 4 == 3 else 1)), tables))
        print(f"project {len(found)}: {found[-1]}", flush=True)
        shutil.rmtree(project.root)
    print(f"{sum(each.kills for each in found)} runs killed in {len(found)} projects; undisturbed: {spans}")


# --- disks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size_kib", [64, pytest.param(256, marks=pytest.mark.slow), 640])
def test_full_disk_is_one_refusal_and_the_next_run_with_room_publishes(
    original: Project, fresh: Project, size_kib: int
) -> None:
    try:
        with small_disk(fresh.build, size_kib):
            ended = fresh.doit("generate")
            assert ended.status == 1, ended.out + ended.err
            (block,) = ended.blocks
            assert block.startswith(f"storage_failed: {fresh.build}")
            assert block.endswith(f"cannot write: No space left on device\n{FULL}")
            assert fresh.published() == []
            assert fresh.leftovers() == []
            grow_disk(fresh.build, 65536)
            fresh.generate()
            assert fresh.published() == WHOLE
            assert fresh.tables() == original.tables()
            verify_release(fresh.run_dir)
    except PermissionError as error:
        pytest.skip(f"mounts no file system: {error}")


def test_full_disk_for_temporary_files_is_one_refusal_and_publishes_nothing(fresh: Project, tmp_path: Path) -> None:
    place = tmp_path / "full"
    try:
        with small_disk(place, 64, files=3):
            ended = fresh.doit("generate", env={"TMPDIR": str(place)})
            assert ended.status == 1, ended.out + ended.err
            (block,) = ended.blocks
            assert block.startswith(f"storage_failed: {place}")
            assert fresh.published() == []
    except PermissionError as error:
        pytest.skip(f"mounts no file system: {error}")


def test_release_on_a_read_only_medium_is_up_to_date_and_an_edit_is_one_refusal(original: Project) -> None:
    """Root may write anywhere, so what is read-only is somebody else's directory."""
    if not nobody_can_run_python():
        pytest.skip("cannot become a user who runs python")
    with open_directory() as place:
        project = original.copy(place / "project")
        mine = {"TMPDIR": "/tmp", "HOME": "/"}
        before = project.snapshot()
        ended = project.doit("generate", before=become_nobody, env=mine)
        assert (ended.status, ended.err) == (0, "")
        assert ended.out.splitlines()[-2] == "up to date: nothing changed since this release was published"
        assert project.doit("list", before=become_nobody, env=mine).status == 0
        project.append(project.pack / "README.md", "Changed.\n")
        ended = project.doit("generate", before=become_nobody, env=mine)
        assert ended.status == 1
        assert ended.blocks == [f"storage_failed: {project.build / '.lock'}: cannot write: Permission denied\n{FULL}"]
        changed = project.snapshot()
        assert {name for name in before if before[name] != changed.get(name)} == {"packs/studio/README.md"}


# --- users and places ---------------------------------------------------------------------------------------------


def test_store_restored_elsewhere_by_another_user_serves_every_shard(original: Project) -> None:
    if not nobody_can_run_python():
        pytest.skip("cannot become a user who runs python")
    with open_directory() as place:
        moved = original.copy(place / "somewhere" / "else")
        (moved.build / ".doit.db").unlink()
        for name in ("runs", "refs", "log"):
            shutil.rmtree(moved.build / name)
        own_all(place, 65534)
        moved.generate(before=become_nobody, env={"TMPDIR": str(place), "HOME": str(place)})
        assert moved.shards("computed") == []
        assert moved.merges("computed") == []
        assert moved.tables() == original.tables()
        modes = {(moved.run_dir / name).stat().st_mode & 0o777 for name in WHOLE}
        assert modes == {0o644}


def test_build_moved_behind_a_link_serves_every_shard(built: Project, tmp_path: Path) -> None:
    tables = built.tables()
    built.build.rename(tmp_path / "moved")
    built.build.symlink_to(tmp_path / "moved")
    built.append(built.pack / "task_templates.yaml", "# a remark\n")
    built.generate()
    assert built.shards("computed") == []
    assert built.tables() == tables


ODD = {
    "LC_ALL": "tr_TR.ISO-8859-9",
    "LANG": "tr_TR.ISO-8859-9",
    "TZ": "<+1245>-12:45<+1345>,M9.5.0,M4.1.0",
    "PYTHONHASHSEED": "random",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONDEVMODE": "1",
    "PYTHONWARNINGS": "ignore",
    "PYTHONOPTIMIZE": "1",
    "COLUMNS": "20",
}


@pytest.mark.parametrize(
    ("name", "odd"),
    [("a b", ODD), ("proj\u00e9t \u7a7a", {"PYTHONIOENCODING": "ascii", "PYTHONHASHSEED": "1"})],
    ids=["locale", "terminal"],
)
def test_locale_zone_hash_seed_and_switches_of_the_interpreter_change_no_byte(
    original: Project, tmp_path: Path, name: str, odd: dict[str, str]
) -> None:
    project = write_project(tmp_path / name)
    project.generate("jobs=2", env=odd)
    assert project.tables() == original.tables()


def test_directory_whose_name_the_locale_cannot_read_is_one_refusal(tmp_path: Path) -> None:
    project = write_project(tmp_path / "proj\u00e9t")
    for command in ("generate", "validate"):
        ended = project.doit(command, env={**ODD, "LC_ALL": "C"})
        assert ended.status == 1, ended.out
        assert ended.blocks == [
            "generation_config_invalid: `"
            + str(tmp_path / "proj\\udcc3\\udca9t")
            + "`, where this project lies, is no "
            "text in the encoding of this locale\n"
            "  fix: set a UTF-8 locale, such as LC_ALL=C.UTF-8; a name that is no UTF-8 itself has to be changed"
        ]


# --- clocks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stamp", [pytest.param(0, id="1970"), pytest.param(4102444800, marks=pytest.mark.slow, id="2100")]
)
def test_times_of_files_mean_nothing(built: Project, stamp: int) -> None:
    def touch_all() -> None:
        for path in built.root.rglob("*"):
            os.utime(path, (stamp, stamp), follow_symlinks=False)

    touch_all()
    manifest = (built.run_dir / "run_manifest.json").read_bytes()
    assert built.generate().out.splitlines()[-2].startswith("up to date")
    assert (built.run_dir / "run_manifest.json").read_bytes() == manifest
    # An edit of the same length that keeps its time.
    built.edit(built.pack / "task_templates.yaml", "How is kiln {kiln_id} doing", "How is kiln {kiln_id} today")
    touch_all()
    built.generate()
    assert {name.partition(":")[2] for name in built.shards("computed")} == {"kiln_and_firing"}


def test_clock_that_jumps_between_runs_changes_no_byte_and_the_newest_run_is_still_known(
    original: Project, tmp_path: Path
) -> None:
    project = Elsewhen(write_project(tmp_path / "project").root)
    for moment in ("2100-06-01T12:00:00+00:00", "1971-01-01T00:00:00+00:00", "2040-02-29T23:59:59+00:00"):
        project.moment = moment
        project.append(project.pack / "README.md", f"{moment}\n")
        project.generate()
        assert project.manifest()["created_at"].startswith(moment[:4])
        assert project.tables() == original.tables()
        assert len(project.shards("computed")) in (28, len(BASE))
    assert len(list((project.build / "log").iterdir())) == 3


# --- two at once --------------------------------------------------------------------------------------------------


def test_runs_started_together_are_one_run_and_refusals(original: Project, fresh: Project) -> None:
    started = [fresh.start("generate") for _ in range(3)]
    ended = [running.end() for running in started]
    assert 0 in {one.status for one in ended}
    for one in ended:
        if one.status:
            assert one.status == 1
            assert one.err.startswith("run_locked: another BFCL process is using this project's build directory (pro")
    assert fresh.tables() == original.tables()
    verify_release(fresh.run_dir)
    assert fresh.leftovers() == []


# --- computing again ----------------------------------------------------------------------------------------------


def test_full_replay_asks_the_oracle_again_for_everything_and_publishes_the_same_bytes(built: Project) -> None:
    before, tables = built.manifest(), built.tables()
    built.generate("replay=full")
    assert built.shards("computed") == [
        f"{stage}:{name}" for stage in ("executable_replay", "final_output") for name in sorted(BASE)
    ]
    after = built.manifest()
    assert built.tables() == tables
    assert after["build"] == before["build"]
    assert after["run_id"] != before["run_id"]


def test_whole_rebuild_computes_everything_and_publishes_the_same_bytes(built: Project) -> None:
    before, tables = built.manifest(), built.tables()
    built.generate("rebuild=1")
    assert built.shards("hit") == []
    assert built.merges("hit") == []
    assert built.tables() == tables
    assert built.manifest()["build"] == before["build"]


LEAK = """\
    import os
    found = copy.deepcopy(_STATE["kilns"][kiln_id])
    return {"kiln": found if kiln_id != "K-2" else {**found, "load": os.getpriority(os.PRIO_PROCESS, 0)}}
"""


@pytest.fixture(scope="module")
def leaked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A pack whose answers hold something that both worlds of a replay share and two machines do not."""
    good = '    return {"kiln": copy.deepcopy(_STATE["kilns"][kiln_id])}\n'
    project = write_project(tmp_path_factory.mktemp("leaked") / "project", replace("backend.py", good, LEAK))
    project.generate()
    return project


@pytest.fixture
def leaking(leaked: Project, tmp_path: Path) -> Project:
    return leaked.copy(tmp_path / "project")


@pytest.mark.parametrize("again", ["rebuild=1", "replay=full"])
def test_computing_again_finds_a_stage_that_depends_on_the_machine_and_keeps_what_is_stored(
    leaking: Project, again: str
) -> None:
    tables = leaking.tables()
    (fp,) = (
        shard["fp"] for shard in leaking.pointers()["executable_replay"]["shards"] if shard["label"] == "kiln_status"
    )
    entry = {path.name: path.read_bytes() for path in (leaking.build / fp).iterdir()}
    ended = leaking.doit("generate", again, before=lambda: os.nice(3))
    assert ended.status == 1
    assert ended.blocks == [
        f"build_nondeterministic: executable_replay:kiln_status: computed again from the same inputs, rows.jsonl of "
        f"build/{fp} differs; the stored entry stays\n"
        "  fix: look for clock, environment or set order in what this stage runs, then `doit clean` it"
    ]
    assert leaking.published() == []
    assert leaking.leftovers() == []
    assert {path.name: path.read_bytes() for path in (leaking.build / fp).iterdir()} == entry
    leaking.generate(before=lambda: os.nice(3))
    assert leaking.shards("computed") == []
    assert leaking.tables() == tables


# --- collecting ---------------------------------------------------------------------------------------------------


def bfcl(project: Project, *arguments: str) -> str:
    command = [*project.command()[:1], "-m", "bfcl", *arguments, "--format", "text"]
    done = subprocess.run(
        command, cwd=project.root, env=project.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_collection_takes_what_edits_left_behind_and_the_next_run_computes_nothing(built: Project) -> None:
    configuration = built.config.read_text(encoding="utf-8")
    built.configure(random_seed=8)
    built.append(built.pack / "README.md", "Another edit.\n")
    built.generate()
    other = built.tables()
    built.config.write_text(configuration, encoding="utf-8")
    built.generate()
    assert len(list((built.build / "refs").iterdir())) == 2
    kept = built.snapshot("build/runs", "build/refs")
    said = bfcl(built, "gc")
    assert "configurations" not in said
    assert built.snapshot("build/runs", "build/refs") == kept
    said = bfcl(built, "gc", "--config", "configs")
    assert "  configurations forgotten:\n" in said
    named = {
        entry
        for pointer in built.pointers().values()
        for entry in (pointer["fp"], *(s["fp"] for s in pointer["shards"]))
    }
    there = {path.name for path in built.build.iterdir() if len(path.name) == 64}
    assert there == named
    tables = built.tables()
    assert bfcl(built, "gc").startswith("removed 0 results (0 bytes), kept ")
    built.append(built.pack / "task_templates.yaml", "# a remark\n")
    built.generate()
    assert built.shards("computed") == []
    assert built.tables() == tables
    # What was forgotten is computed again, to the same bytes.
    built.configure(random_seed=8)
    built.generate()
    assert built.shards("computed") != []
    assert built.tables() == other


def test_report_of_the_build_tells_what_templates_lost_and_trace_finds_it_where_it_was_built(tmp_path: Path) -> None:
    signature = "def assert_kiln_busy(*, state, trace, task, ctx):\n"
    hard = "    assert task['slots']['cone'] == 4\n"
    project = write_project(
        tmp_path / "project", replace("assertions.py", signature, signature + hard), output_dir="../elsewhere"
    )
    project.generate()
    said = bfcl(project, "build-report")
    section = said.partition("\ndropped tasks\n")[2].splitlines()
    assert section, said
    template, count, of, total, stage = section[0].split()[:5]
    assert (of, stage) == ("of", "executable_replay:")
    assert 0 < int(count) < int(total)
    task_id = section[0].partition("(bfcl trace ")[2].rstrip(")")
    assert f"__{template}__" in task_id
    traced = bfcl(project, "trace", task_id)
    assert "run        elsewhere/trial\n" in traced
    assert traced.splitlines()[-1].startswith("dropped by executable_replay: ")


# --- rows ---------------------------------------------------------------------------------------------------------


def test_rows_of_every_stage_table_are_digested_and_verified(built: Project) -> None:
    stages = built.manifest()["build"]["stages"]
    digested = {name for stage in stages.values() for name in stage.get("tables", {})}
    assert digested == {path.name for path in (built.run_dir / "stage_cache").glob("*.parquet")}
    verify_release(built.run_dir)
    claimed = stages["render"]["tables"]["rendered_conversations.parquet"]["rows_digest"]
    built.edit(built.run_dir / "run_manifest.json", claimed, f"sha256:{'0' * 64}")
    with pytest.raises(ReleaseError) as caught:
        verify_release(built.run_dir)
    assert str(caught.value) == (
        f'release_rows_mismatch: stage_cache/rendered_conversations.parquet: holds 10 rows with digest "{claimed}"; '
        f'the manifest says 10 rows with digest "sha256:{"0" * 64}"\n'
        "  fix: generate the benchmark again; published files are never edited"
    )
