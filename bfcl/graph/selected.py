"""What did stage 11 select in this run, and what does its report say? As stored. Rule: generation.md §3.8."""

from __future__ import annotations

import json
from typing import Final

from bfcl.canonical import Json
from bfcl.graph.session import Session
from bfcl.graph.store import Entry
from bfcl.records.ids import TaskId
from bfcl.stages import stage_named

_, REPORT_FILE = stage_named("dedup_balancing").writes
RANKED_FILE: Final = "ranked.json"
"""The selected ids by rank, beside the table."""


def read_balancing(session: Session) -> dict[str, Json] | None:
    """The report of this run's selection, None where the stage is bypassed."""
    if "dedup_balancing" not in session.holding:
        return None
    entry = session.entry("dedup_balancing")
    report: dict[str, Json] = json.loads(entry.file(REPORT_FILE).read_bytes())
    return report


def ranked_ids(entry: Entry) -> tuple[TaskId, ...]:
    """The ids that a stored result selects, by rank."""
    return tuple(TaskId(one) for one in json.loads(entry.file(RANKED_FILE).read_bytes()))
