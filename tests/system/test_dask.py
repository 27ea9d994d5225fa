"""Real doit with `executor=dask:`: the same bytes as without, whatever happens to a worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bfcl.graph.dask_executor import LEAST_TASKS
from tests.clusters import Cluster, cluster, until
from tests.packs import BASE, FIXTURES, add_template, put, replace
from tests.system.project import Ended, Project, write_project

WAITING = """
import os
import pathlib


def call_tool(name, arguments, *, ctx):
    # Where a worker of a cluster keeps its view; everywhere else nothing waits.
    here = pathlib.Path(__file__).parent
    while "-view-" in str(here) and not (here / "go").exists():
        os.sched_yield()
"""
"""World A of a worker waits in every call for a file that the test puts beside the backend."""
WAITING_IN_ONE_TEMPLATE = WAITING.replace("while ", 'while "__kiln_again__" in ctx.task_id and ')
"""The same, in calls of the template `kiln_again` only."""


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path / "cluster", workers=2) as running:
        yield running


def views(of: Cluster) -> dict[int, Path]:
    """Process to the view it has laid out."""
    return {int(path.name.split("-")[1]): path / "tree" for path in of.temporary.glob("bfcl-*-view-*")}


def let_go(of: Cluster) -> bool:
    """Let the calls of every view that is there by now return; never what anybody waits for."""
    for tree in views(of).values():
        if tree.is_dir():
            (tree / "go").touch()
    return False


def without_progress(ended: Ended) -> list[str]:
    """Lines on standard error but for those that a slow machine gets."""
    return [line for line in ended.err.splitlines() if not line.endswith(" s left")]


def test_tables_are_the_same_and_workers_leave_nothing_behind(
    original: Project, fresh: Project, tmp_path: Path
) -> None:
    with cluster(tmp_path / "cluster", workers=2, threads=2) as two:
        ended = fresh.generate(f"executor=dask:{two.address}")
        assert len(views(two)) == 1
    assert without_progress(ended) == []
    assert f"executor: dask:{two.address}" in ended.out.splitlines()
    assert fresh.tables() == original.tables()
    replayed = {shard.partition(":")[2] for shard in fresh.shards("computed") if shard.startswith("executable_replay")}
    assert replayed == {shard["label"] for shard in original.pointers()["executable_replay"]["shards"]}
    assert fresh.manifest()["runtime"]["isolation"] == original.manifest()["runtime"]["isolation"]
    assert list(two.temporary.glob("bfcl-*")) == []
    assert list(fresh.temporary.iterdir()) == []


def test_worker_killed_while_it_replays_loses_nothing(two: Cluster, tmp_path: Path) -> None:
    edit = replace("backend.py", "\ndef call_tool(name, arguments, *, ctx):\n", WAITING)
    here = write_project(tmp_path / "here", edit)
    here.configure(oracle_runtime__tool_timeout_s=60, oracle_runtime__episode_timeout_s=300)
    here.generate()
    there = write_project(tmp_path / "there", edit)
    there.configure(oracle_runtime__tool_timeout_s=60, oracle_runtime__episode_timeout_s=300)
    told: list[Ended] = []

    def generate() -> None:
        told.append(there.doit("generate", f"executor=dask:{two.address}"))

    generating = threading.Thread(target=generate)
    generating.start()
    until(lambda: bool(views(two)), two.scheduler)
    (first,) = views(two)
    victim, other = sorted(two.workers, key=lambda worker: worker.pid != first)
    until(lambda: len(list(two.temporary.glob(f"bfcl-{first}-*"))) == 2, victim)
    victim.kill()

    until(lambda: let_go(two) or not generating.is_alive(), other)
    assert told[0].status == 0, told[0].err
    assert without_progress(told[0]) == []
    assert there.tables() == here.tables()


def two_groups(root: Path) -> Project:
    """A project whose replays are two groups, one for each template, the second of which waits on a worker."""
    kilns = [
        {"kiln_id": f"K-{number}", "zone": "north", "status": "idle", "recent_firings": []}
        for number in range(100, 164)
    ]
    return write_project(
        root,
        put("fixtures.json", (), {**FIXTURES, "kilns": [*FIXTURES["kilns"], *kilns]}),
        add_template("kiln_again", like="kiln_status", intent="again"),
        replace("backend.py", "\ndef call_tool(name, arguments, *, ctx):\n", WAITING_IN_ONE_TEMPLATE),
        templates=BASE[:1],
        task_generation__tasks_per_category=2 * LEAST_TASKS,
        oracle_runtime__tool_timeout_s=60,
        oracle_runtime__episode_timeout_s=300,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """`two_groups`, published."""
    project = two_groups(tmp_path_factory.mktemp("whole") / "project")
    project.generate()
    return project


@pytest.mark.parametrize("anew", [False, True], ids=["here", "another_scheduler"])
def test_scheduler_killed_in_mid_stage_is_one_refusal_and_the_next_run_goes_on(
    whole: Project, tmp_path: Path, anew: bool
) -> None:
    project = two_groups(tmp_path / "project")
    replayed = {
        shard["label"]: project.build / shard["fp"] for shard in whole.pointers()["executable_replay"]["shards"]
    }
    assert list(replayed) == ["kiln_status", "kiln_again"]
    with cluster(tmp_path / "cluster", workers=1) as first:
        running = project.start("generate", f"executor=dask:{first.address}")
        assert running.until(replayed["kiln_status"].exists)
        first.scheduler.kill()
        ended = running.end()
        let_go(first)
    assert ended.status == 1, ended.out
    assert ended._replace(err="\n".join(without_progress(ended))).blocks == [
        f"executor_unreachable: dask:{first.address}: the connection was lost; finished shards are kept\n"
        "  fix: start a scheduler there or mend the address, or leave `executor=` out to compute on this machine"
    ]
    assert project.published() == []
    assert project.leftovers() == []
    assert list(project.temporary.iterdir()) == []
    assert not replayed["kiln_again"].exists()
    if anew:
        with cluster(tmp_path / "another", workers=1) as second:
            running = project.start("generate", f"executor=dask:{second.address}")
            running.until(lambda: let_go(second))
            ended = running.end()
    else:
        ended = project.doit("generate")
    assert ended.status == 0, ended.err
    again = [name for name in project.shards("computed") if name.startswith("executable_replay")]
    assert again == ["executable_replay:kiln_again"]
    assert project.tables() == whole.tables()


def test_cluster_out_of_reach_is_refused_and_nothing_is_published(fresh: Project) -> None:
    ended = fresh.doit("generate", "executor=dask:127.0.0.1:1")
    assert ended.status == 1
    assert ended.blocks == [
        "executor_unreachable: dask:127.0.0.1:1: [Errno 111] Connection refused\n"
        "  fix: start a scheduler there or mend the address, or leave `executor=` out to compute on this machine"
    ]
    assert fresh.published() == []
