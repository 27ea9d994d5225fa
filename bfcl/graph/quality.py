"""Stage 10 at the border: the surviving tasks' wording goes in, verdicts and the report of rejections come out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.files import storage, write_synced
from bfcl.graph.runner import FACTS
from bfcl.graph.session import Session
from bfcl.graph.shards import ROWS_FILE, RowReader
from bfcl.graph.store import Entry
from bfcl.graph.unsharded import Given, bring_up
from bfcl.records.ids import TaskId
from bfcl.records.quality import SurfaceQuality
from bfcl.stages import Stage
from bfcl.stages.surface_quality import REJECTIONS_FILE, judge_surface, rejections
from bfcl.tables.codec import QUALITIES, SURFACES, TASKS, Row, decode_line
from bfcl.tables.parquet import TableWriter


def run_surface_quality(session: Session, stage: Stage) -> None:
    """Judge the wording of every task that passed its replay; what fails is dropped with its reasons."""
    session.check_views(stage.name)
    inputs = {name: str(session.result(name).fp) for name in stage.reads}
    params: dict[str, Json] = {"section": asdict(session.config.surface_quality_validation)}

    def fill(directory: Path) -> None:
        write_verdicts(directory, stage.writes[0], _verdicts(session))

    bring_up(session, stage, Given(inputs=inputs, params=params), fill)


def _verdicts(session: Session) -> Iterator[SurfaceQuality]:
    readers = [
        RowReader(session.store, name, session.result(name).shards, session.order)
        for name in ("expand", "render", "executable_replay")
    ]
    for batch in zip(*(reader.batches() for reader in readers), strict=True):
        for task, surface, replay in zip(*batch, strict=True):
            if decode_line(replay)["valid"]:
                yield judge_surface(TASKS.decode(task), SURFACES.decode(surface))


def write_verdicts(directory: Path, table: str, verdicts: Iterable[SurfaceQuality]) -> None:
    """The table of these verdicts with its facts, its rows and the report, in one pass that holds a row group at most.

    Raises: StageError `storage_failed`.
    """
    # Balancing reads them again: canonical lines do not depend on the Parquet library.
    with TableWriter(directory / table, QUALITIES.artifact) as writer, _rows_file(directory / ROWS_FILE) as append:

        def written() -> Iterator[SurfaceQuality]:
            for verdict in verdicts:
                line = QUALITIES.encode(verdict)
                writer.write((line,))
                append(line)
                yield verdict

        report = rejections(written())
        info = writer.close()
    write_synced(directory / FACTS, canonical_json({table: info._asdict()}))
    write_synced(directory / REJECTIONS_FILE, readable_json(report))


@contextmanager
def _rows_file(path: Path) -> Iterator[Callable[[bytes], None]]:
    """A new rows file, as what appends a line to it; the store flushes it to the disk with the rest of its result."""
    with storage(path):
        stream = path.open("wb")

    def append(line: bytes) -> None:
        with storage(path):
            stream.write(line + b"\n")

    try:
        with storage(path):
            os.fchmod(stream.fileno(), 0o644)
        yield append
    finally:
        with storage(path):
            stream.close()


def kept_verdicts(entry: Entry) -> Iterator[SurfaceQuality]:
    """The verdicts of a stored result that keep their task, in task order."""
    return map(QUALITIES.from_row, _kept_rows(entry))


def kept_ids(entry: Entry) -> frozenset[TaskId]:
    """The tasks that a stored result keeps."""
    return frozenset(TaskId(row["task_id"]) for row in _kept_rows(entry))


def _kept_rows(entry: Entry) -> Iterator[Row]:
    """One at a time, since there are as many as tasks."""
    with entry.file(ROWS_FILE).open("rb") as lines:
        yield from (row for row in map(decode_line, lines) if row["accepted"])


def read_rejections(entry: Entry) -> dict[str, Json]:
    """The report of rejections of a stored result."""
    report: dict[str, Json] = json.loads(entry.file(REJECTIONS_FILE).read_bytes())
    return report
