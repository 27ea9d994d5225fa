"""The source is seen to before the first request, and as tasks begin where they run."""

from __future__ import annotations

import asyncio

import pytest

from bfcl.evaluate.run.preflight import Prepared
from bfcl.evaluate.run.watching import Watching
from tests.evaluate.arena import Arena, Edit, executable
from tests.evaluate.refusals import refused
from tests.evaluate.run.test_episodes import opened

CHANGED = "eval_source_changed_during_eval"


def spoiled(arena: Arena, *edits: Edit) -> Prepared:
    """Verified, and changed since."""
    prepared, _ = opened(arena, *edits)
    table = prepared.verified.run_dir / "benchmark.parquet"
    table.write_bytes(table.read_bytes() + b"x")
    return prepared


@pytest.mark.parametrize(("edits", "checks"), [((executable,), 5), ((), 1)], ids=["executable", "trace"])
def test_untouched_source_is_checked_first_and_before_each_task_that_is_executed(
    arena: Arena, edits: tuple[Edit, ...], checks: int
) -> None:
    prepared, _ = opened(arena, *edits)

    async def work() -> int:
        watching = Watching(prepared)
        await watching.settle()
        await asyncio.gather(*(watching.before_task() for _ in range(4)))
        return watching._watch.checks

    assert asyncio.run(work()) == checks


@pytest.mark.parametrize("ask", [Watching.settle, Watching.before_task])
def test_source_that_changed_stops_a_run_that_executes(arena: Arena, ask: object) -> None:
    prepared = spoiled(arena, executable)
    assert callable(ask)
    (problem,) = refused(lambda: asyncio.run(ask(Watching(prepared))))
    assert (problem.code, str(problem.path).rpartition("/")[2]) == (CHANGED, "benchmark.parquet")


def test_trace_sees_to_its_source_at_both_ends_and_not_between(arena: Arena) -> None:
    prepared = spoiled(arena)
    asyncio.run(Watching(prepared).before_task())
    (problem,) = refused(lambda: asyncio.run(Watching(prepared).settle()))
    assert problem.code == CHANGED
