"""Verdicts of stage 10 as they are stored and read again: in one pass, however many there are."""

from __future__ import annotations

import dataclasses
import gc
import json
import stat
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bfcl.canonical import readable_json
from bfcl.errors import StageError
from bfcl.graph.layout import BuildTree
from bfcl.graph.quality import kept_ids, kept_verdicts, read_rejections, write_verdicts
from bfcl.graph.runner import FACTS
from bfcl.graph.shards import ROWS_FILE
from bfcl.graph.store import Entry, Key, Store
from bfcl.records.ids import TaskId
from bfcl.records.quality import SurfaceQuality
from bfcl.records.surface import Violation
from bfcl.stages import stage_named
from bfcl.stages.surface_quality import REJECTIONS_FILE, judge_surface, rejections
from bfcl.tables.codec import QUALITIES
from bfcl.tables.parquet import TableWriter, rows_digest
from tests.release import samples

TABLE, _ = stage_named("surface_quality").writes
TASK = samples.task()
KEPT = judge_surface(TASK, samples.surface(TASK))
DROPPED = judge_surface(TASK, samples.surface(TASK, [Violation(guard="must_omit", key="slot", value="bar")]))


def verdicts(count: int) -> Iterator[SurfaceQuality]:
    """Of so many tasks; every third is dropped."""
    for number in range(count):
        yield dataclasses.replace(KEPT if number % 3 else DROPPED, task_id=TaskId(f"t{number:06d}"))


def stored(root: Path, count: int) -> Entry:
    store = Store(BuildTree(root))
    key = Key(stage="surface_quality", shard=None, code="", params={}, inputs={})
    with store.building(key) as directory:
        write_verdicts(directory, TABLE, verdicts(count))
    entry = store.find(key.fp)
    assert entry is not None
    return entry


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python objects took meanwhile."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_one_pass_leaves_table_rows_facts_and_report(tmp_path: Path) -> None:
    entry = stored(tmp_path, 7)
    lines = list(map(QUALITIES.encode, verdicts(7)))
    assert entry.file(ROWS_FILE).read_bytes() == b"".join(line + b"\n" for line in lines)
    with TableWriter(tmp_path / TABLE, QUALITIES.artifact) as table:
        table.write(lines)
        table.close()
    assert entry.file(TABLE).read_bytes() == (tmp_path / TABLE).read_bytes()
    assert json.loads(entry.file(FACTS).read_bytes()) == {TABLE: {"rows": 7, "rows_digest": rows_digest(lines)}}
    assert entry.file(REJECTIONS_FILE).read_bytes() == readable_json(rejections(verdicts(7)))
    assert read_rejections(entry)["dropped_by_python"] == 3
    assert {stat.S_IMODE(entry.file(name).stat().st_mode) for name in entry.files} == {0o644}


def test_no_verdicts_leave_empty_files(tmp_path: Path) -> None:
    entry = stored(tmp_path, 0)
    assert entry.file(ROWS_FILE).read_bytes() == b""
    assert (kept_ids(entry), list(kept_verdicts(entry))) == (frozenset(), [])
    assert read_rejections(entry)["evaluated"] == 0


def test_what_is_kept_comes_back_in_task_order(tmp_path: Path) -> None:
    entry = stored(tmp_path, 7)
    kept = [verdict for verdict in verdicts(7) if verdict.accepted]
    assert list(kept_verdicts(entry)) == kept
    assert kept_ids(entry) == {verdict.task_id for verdict in kept}


def test_rows_that_cannot_be_written_are_told_by_name(tmp_path: Path) -> None:
    (tmp_path / ROWS_FILE).mkdir()
    with pytest.raises(StageError) as caught:
        write_verdicts(tmp_path, TABLE, verdicts(3))
    (problem,) = caught.value.problems
    assert (problem.code, problem.subject) == ("storage_failed", str(tmp_path / ROWS_FILE))
    assert problem.message == "cannot write: Is a directory"


def test_verdicts_go_to_the_disk_one_by_one(tmp_path: Path) -> None:
    alive, on_disk = 0, 0

    def watched() -> Iterator[SurfaceQuality]:
        nonlocal alive, on_disk
        before = living()
        yield from verdicts(600)
        alive, on_disk = living() - before, (tmp_path / ROWS_FILE).stat().st_size

    write_verdicts(tmp_path, TABLE, watched())
    # The verdict at hand, and what Python buffers of the file.
    assert alive <= 1
    assert on_disk > (tmp_path / ROWS_FILE).stat().st_size / 2


def living() -> int:
    """Verdicts in memory."""
    return sum(isinstance(one, SurfaceQuality) for one in gc.get_objects())


def test_reading_what_is_kept_holds_no_more_than_ids(tmp_path: Path) -> None:
    entry = stored(tmp_path, 3000)
    size = entry.file(ROWS_FILE).stat().st_size
    assert peak(lambda: kept_ids(entry)) < size / 3
    assert peak(lambda: sum(1 for _ in kept_verdicts(entry))) < size / 10
