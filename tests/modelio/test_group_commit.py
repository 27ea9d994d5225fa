"""Who comes while a write is under way shares the next one, and who leaves is written all the same."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from bfcl.errors import BfclError
from bfcl.modelio.append_log import AppendLog
from bfcl.modelio.group_commit import GATHER_S, GroupCommit
from bfcl.modelio.log_form import LogForm, LogRecord, Unit
from tests.system.project import PATIENCE_S

FORM = LogForm(
    schema_version="1.0", begins=frozenset({"one"}), ends=frozenset({"one"}), invalid_code="i", conflict_code="c"
)


class Noting(AppendLog[str]):
    """A log that notes what it is given at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, FORM, lambda unit: unit[0].key)
        self.batches: list[list[str]] = []
        self.held: tuple[threading.Event, threading.Event] | None = None
        """What an append tells when it begins, and what it then waits for."""

    def append(self, units: object) -> None:
        assert isinstance(units, list)
        if self.held is not None:
            begun, go = self.held
            begun.set()
            assert go.wait(PATIENCE_S)
        self.batches.append([unit[0].key for unit in units])
        super().append(units)


class Still(asyncio.SelectorEventLoop):
    """A loop whose time passes when it is told to."""

    now = 0.0

    def time(self) -> float:
        return self.now


def unit(key: str) -> Unit:
    return (LogRecord(record_type="one", key=key, payload=None),)


def test_those_who_come_during_a_write_share_the_next_in_their_order(tmp_path: Path) -> None:
    log = Noting(tmp_path / "log")

    async def work() -> None:
        commit = GroupCommit(log)
        first = asyncio.ensure_future(commit.append(unit("a")))
        while not log.batches:
            await asyncio.sleep(0)
        await asyncio.gather(first, *(commit.append(unit(key)) for key in "bcd"))
        await commit.append(unit("e"))

    asyncio.run(work())
    assert log.batches == [["a"], ["b", "c", "d"], ["e"]]
    assert [*AppendLog(log.path, FORM, lambda one: one[0].key).units()] == list("abcde")


def test_write_waits_for_those_who_come_shortly_after_the_first(tmp_path: Path) -> None:
    log, loop = Noting(tmp_path / "log"), Still()

    async def work() -> None:
        commit = GroupCommit(log)
        first = asyncio.ensure_future(commit.append(unit("a")))
        for _ in range(8):
            await asyncio.sleep(0)
        both = asyncio.gather(first, commit.append(unit("b")))
        while not both.done():
            await asyncio.sleep(0)
            loop.now += GATHER_S
        await both

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work())
    assert log.batches == [["a", "b"]]


def test_unit_of_one_who_was_cancelled_is_written_all_the_same(tmp_path: Path) -> None:
    log = Noting(tmp_path / "log")

    async def work() -> None:
        commit = GroupCommit(log)
        leaving = asyncio.ensure_future(commit.append(unit("a")))
        staying = asyncio.ensure_future(commit.append(unit("b")))
        await asyncio.sleep(0)
        leaving.cancel()
        await staying
        assert leaving.cancelled()

    asyncio.run(work())
    assert [*log.units()] == ["a", "b"]


@pytest.mark.parametrize("turns", range(8))
def test_everything_is_written_when_a_run_is_cancelled_whenever_that_is(tmp_path: Path, turns: int) -> None:
    log = Noting(tmp_path / "log")
    keys = [f"{number:02}" for number in range(40)]

    async def work() -> None:
        commit = GroupCommit(log)
        asking = [asyncio.ensure_future(commit.append(unit(key))) for key in keys]
        for _ in range(turns):
            await asyncio.sleep(0 if turns < 6 else GATHER_S)
        for one in asking:
            one.cancel()
        # Nobody goes on: the loop ends as soon as all have left.
        await asyncio.wait(asking)
        assert sorted(key for batch in log.batches for key in batch) == (keys if turns else [])

    asyncio.run(work())


def test_who_leaves_behind_a_write_that_is_under_way_waits_for_it(tmp_path: Path) -> None:
    log, begun, go = Noting(tmp_path / "log"), threading.Event(), threading.Event()
    leaving = threading.Event()
    log.held = begun, go
    threading.Thread(target=lambda: leaving.wait(PATIENCE_S) and go.set()).start()

    async def work() -> None:
        commit = GroupCommit(log)
        first = asyncio.ensure_future(commit.append(unit("a")))
        while not begun.is_set():
            await asyncio.sleep(0)
        behind = asyncio.ensure_future(commit.append(unit("b")))
        await asyncio.sleep(0)
        behind.cancel()
        leaving.set()
        with pytest.raises(asyncio.CancelledError):
            await behind
        assert log.batches == [["a"], ["b"]]
        await first

    asyncio.run(work())


def test_a_write_that_fails_is_told_to_who_stays_and_to_who_leaves(tmp_path: Path) -> None:
    log = Noting(tmp_path / "log")
    log.path.mkdir()

    async def work() -> None:
        commit = GroupCommit(log)
        staying, leaving = (asyncio.ensure_future(commit.append(unit(key))) for key in "ab")
        await asyncio.sleep(0)
        leaving.cancel()
        for one in (staying, leaving):
            with pytest.raises(BfclError):
                await one

    asyncio.run(work())
