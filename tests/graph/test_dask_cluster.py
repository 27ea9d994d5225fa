"""What a scheduler that goes away or stands still comes to, whatever it is asked at that moment."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bfcl.errors import StageError
from bfcl.graph import dask_cluster
from bfcl.graph.dask_cluster import _NOISY, Cluster, connected
from bfcl.graph.dask_executor import check_cluster
from tests.clusters import PATIENCE_S, cluster
from tests.clusters import Cluster as Processes

ELSEWHERE = "or leave `executor=` out to compute on this machine"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Processes]:
    with cluster(tmp_path / "cluster", workers=1) as running:
        yield running


def refusals(reached: Cluster) -> set[str]:
    """What every kind of question is answered with, each of which must be refused."""
    told = set()
    for ask in (
        reached.threads,
        lambda: reached.on_workers(os.getpid),
        lambda: reached.on_scheduler(os.getpid),
    ):
        with pytest.raises(StageError) as caught:
            ask()
        told.add(str(caught.value))
    return told


def test_every_question_is_answered_while_all_is_well(one: Processes) -> None:
    (worker,) = one.workers
    with connected(one.address) as client:
        reached = Cluster(client, one.address)
        assert reached.threads() == [1]
        assert list(reached.on_workers(os.getpid).values()) == [worker.pid]
        reached.on_scheduler(os.getpid)
        future = reached.submit("one", os.getpid)
        while not (done := reached.some_done([future], 1)):
            assert worker.poll() is None
        assert [each.result() for each in done] == [worker.pid]
        reached.withdraw([future])


def test_scheduler_that_stands_still_is_refused(one: Processes) -> None:
    with connected(one.address) as client:
        reached = Cluster(client, one.address, 0.3)
        one.scheduler.send_signal(signal.SIGSTOP)
        try:
            assert refusals(reached) == {
                f"executor_unreachable: dask:{one.address}: no answer for 0 s; finished shards are kept\n"
                f"  fix: start the scheduler and its workers anew, {ELSEWHERE}"
            }
            future = reached.submit("one", os.getpid)
            assert reached.some_done([future], 0.1) == []
            reached.withdraw([future])
        finally:
            one.scheduler.send_signal(signal.SIGCONT)


def test_scheduler_that_is_gone_is_refused_though_the_client_has_closed_itself(
    one: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = (
        f"executor_unreachable: dask:{one.address}: the connection was lost; finished shards are kept\n"
        f"  fix: start a scheduler there or mend the address, {ELSEWHERE}"
    )
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 2.0)
    with connected(one.address) as client:
        reached = Cluster(client, one.address)
        future = reached.submit("one", os.getpid)
        one.scheduler.kill()
        one.scheduler.wait()
        assert refusals(reached) == {lost}
        patience = time.monotonic() + PATIENCE_S
        while client.status != "closed":
            assert time.monotonic() < patience
            os.sched_yield()
        assert refusals(reached) == {lost}
        with pytest.raises(StageError) as caught:
            reached.submit("two", os.getpid)
        assert str(caught.value) == lost
        reached.withdraw([future])


def levels() -> dict[str, int]:
    return {name: logging.getLogger(name).level for name in _NOISY}


def test_log_levels_are_as_before_whether_the_cluster_was_there_or_not(
    one: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="asyncio")
    before = levels()
    with connected(one.address):
        assert set(levels().values()) == {logging.CRITICAL + 1}
    assert levels() == before
    with pytest.raises(StageError):
        check_cluster("scheduler")
    assert levels() == before
