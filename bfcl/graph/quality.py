"""Stage 10 at the border: the surviving tasks' wording goes in, verdicts and the report of rejections come out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bfcl.canonical import Json, readable_json
from bfcl.files import write_synced
from bfcl.graph.session import Session
from bfcl.graph.shards import ROWS_FILE, RowReader, join_rows, split_rows
from bfcl.graph.store import Entry
from bfcl.graph.unsharded import bring_up, write_table
from bfcl.records.ids import TaskId
from bfcl.records.quality import SurfaceQuality
from bfcl.stages import Stage
from bfcl.stages.surface_quality import REJECTIONS_FILE, judge_surface, rejections
from bfcl.tables.codec import QUALITIES, SURFACES, TASKS, decode_line


def run_surface_quality(session: Session, stage: Stage) -> None:
    """Judge the wording of every task that passed its replay; what fails is dropped with its reasons."""
    session.check_views(stage.name)
    inputs = {name: str(session.result(name).fp) for name in stage.reads}
    params: dict[str, Json] = {"section": asdict(session.config.surface_quality_validation)}

    def fill(directory: Path) -> None:
        verdicts = list(_verdicts(session))
        lines = [QUALITIES.encode(verdict) for verdict in verdicts]
        write_table(directory, stage.writes[0], lines)
        # Balancing reads them again: canonical lines do not depend on the Parquet library.
        write_synced(directory / ROWS_FILE, join_rows(lines))
        write_synced(directory / REJECTIONS_FILE, readable_json(rejections(verdicts)))

    bring_up(session, stage, inputs, params, fill)


def _verdicts(session: Session) -> Iterator[SurfaceQuality]:
    readers = [
        RowReader(session.store, name, session.result(name).shards, session.order)
        for name in ("expand", "render", "executable_replay")
    ]
    for batch in zip(*(reader.batches() for reader in readers), strict=True):
        for task, surface, replay in zip(*batch, strict=True):
            if decode_line(replay)["valid"]:
                yield judge_surface(TASKS.decode(task), SURFACES.decode(surface))


def qualities(entry: Entry) -> dict[TaskId, SurfaceQuality]:
    """Every verdict of a stored result, in task order."""
    verdicts = map(QUALITIES.decode, split_rows(entry.file(ROWS_FILE).read_bytes()))
    return {verdict.task_id: verdict for verdict in verdicts}


def kept_ids(entry: Entry) -> frozenset[TaskId]:
    """The tasks that a stored result keeps."""
    return frozenset(task_id for task_id, verdict in qualities(entry).items() if verdict.accepted)


def read_rejections(entry: Entry) -> dict[str, Json]:
    """The report of rejections of a stored result."""
    report: dict[str, Json] = json.loads(entry.file(REJECTIONS_FILE).read_bytes())
    return report
