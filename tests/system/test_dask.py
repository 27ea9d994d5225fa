"""Real doit with `executor=dask:`: the same bytes as without, whatever happens to a worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters import Cluster, cluster, until
from tests.packs import replace
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


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path / "cluster", workers=2) as running:
        yield running


def views(of: Cluster) -> dict[int, Path]:
    """Process to the view it has laid out."""
    return {int(path.name.split("-")[1]): path / "tree" for path in of.temporary.glob("bfcl-*-view-*")}


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

    def let_go() -> bool:
        for tree in views(two).values():
            if tree.is_dir():
                (tree / "go").touch()
        return not generating.is_alive()

    until(let_go, other)
    assert told[0].status == 0, told[0].err
    assert without_progress(told[0]) == []
    assert there.tables() == here.tables()


def test_cluster_out_of_reach_is_refused_and_nothing_is_published(fresh: Project) -> None:
    ended = fresh.doit("generate", "executor=dask:127.0.0.1:1")
    assert ended.status == 1
    assert ended.blocks == [
        "executor_unreachable: dask:127.0.0.1:1: [Errno 111] Connection refused\n"
        "  fix: start a scheduler there or mend the address, or leave `executor=` out to compute on this machine"
    ]
    assert fresh.published() == []
