"""Who comes while a write is under way shares the next one, and who leaves is written all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bfcl.modelio.append_log import AppendLog
from bfcl.modelio.group_commit import GroupCommit
from bfcl.modelio.log_form import LogForm, LogRecord, Unit

FORM = LogForm(
    schema_version="1.0", begins=frozenset({"one"}), ends=frozenset({"one"}), invalid_code="i", conflict_code="c"
)


class Noting(AppendLog[str]):
    """A log that notes what it is given at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, FORM, lambda unit: unit[0].key)
        self.batches: list[list[str]] = []

    def append(self, units: object) -> None:
        assert isinstance(units, list)
        self.batches.append([unit[0].key for unit in units])
        super().append(units)


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
    assert log.batches[0] == ["a"]
    assert [key for batch in log.batches for key in batch] == list("abcde")
    assert [*AppendLog(log.path, FORM, lambda one: one[0].key).units()] == list("abcde")


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
