"""Who computes shards: every job once, its own rows, whatever the executor."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.graph.executor import GROUP_TASKS, Executor, Job, OverlappingExecutor, SerialExecutor, grouped
from bfcl.graph.shards import Chunk
from bfcl.records.ids import TemplateId

EXECUTORS: dict[str, Executor] = {"serial": SerialExecutor(), "overlapping": OverlappingExecutor(2, lambda: None)}


def job(number: int, tasks: int) -> Job:
    chunk = Chunk(template_id=TemplateId("t"), label=f"t/{number}", start=0, stop=tasks)
    template: Any = None
    return Job(number=number, template=template, chunk=chunk, rows={})


def compute(jobs: Sequence[Job]) -> list[list[bytes]]:
    return [[b"%d" % one.number] * one.tasks for one in jobs]


@given(st.lists(st.integers(1, 2 * GROUP_TASKS), max_size=30))
def test_groups_keep_order_and_are_full_but_for_the_last(sizes: list[int]) -> None:
    groups = list(grouped(iter([job(number, size) for number, size in enumerate(sizes)])))
    assert [one.number for group in groups for one in group] == list(range(len(sizes)))
    assert all(sum(one.tasks for one in group) >= GROUP_TASKS for group in groups[:-1])
    assert all(sum(one.tasks for one in group[:-1]) < GROUP_TASKS for group in groups)


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
@given(sizes=st.lists(st.integers(1, GROUP_TASKS), max_size=20))
def test_every_job_comes_back_once_with_its_own_rows(executor: Executor, sizes: list[int]) -> None:
    jobs = [job(number, size) for number, size in enumerate(sizes)]
    told = {one.number: lines for done in executor.run(iter(jobs), compute) for one, lines in done}
    assert told == {one.number: [b"%d" % one.number] * one.tasks for one in jobs}


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
def test_failure_of_a_group_reaches_the_caller(executor: Executor) -> None:
    def fail(_: Sequence[Job]) -> list[list[bytes]]:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        list(executor.run(iter([job(0, 1)]), fail))


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
def test_group_that_loses_rows_is_a_bug(executor: Executor) -> None:
    with pytest.raises(ValueError, match="zip"):
        list(executor.run(iter([job(0, 1), job(1, 1)]), lambda jobs: [[b""]]))


def test_overlapping_groups_are_really_in_flight_together() -> None:
    meeting = threading.Barrier(2, timeout=60)

    def meet(jobs: Sequence[Job]) -> list[list[bytes]]:
        meeting.wait()
        return compute(jobs)

    jobs = iter([job(number, GROUP_TASKS) for number in range(2)])
    assert len(list(OverlappingExecutor(2, lambda: None).run(jobs, meet))) == 2


def test_jobs_are_read_as_they_are_needed() -> None:
    read: list[int] = []

    def jobs() -> Iterator[Job]:
        for number in range(50):
            read.append(number)
            yield job(number, GROUP_TASKS)

    results = OverlappingExecutor(2, lambda: None).run(jobs(), compute)
    next(results)
    assert len(read) <= 4
    results.close()  # type: ignore[attr-defined]
