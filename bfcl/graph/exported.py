"""Which exports leave with a release? Those asked for, written beside it and read back. Rule: generation.md §7."""

from __future__ import annotations

from pathlib import Path

from bfcl.errors import StageError, raise_all
from bfcl.exports.decode import StagedTable
from bfcl.exports.export import export_all
from bfcl.exports.report import ExportOutcome
from bfcl.graph.publish import StagedTables
from bfcl.graph.session import Session
from bfcl.records.ids import TaskId
from bfcl.stages.artifacts import EXPORT_REPORT, EXPORTS_DIR, PUBLISHED_FILE


def exported(session: Session, staging: Path, tables: StagedTables, task_ids: tuple[TaskId, ...]) -> ExportOutcome:
    """Write the exports asked for and read them back. What failed is told and left in `stage_cache/`, as §7 allows.

    Raises: StageError with every problem.
    """
    table = StagedTable(
        path=staging / PUBLISHED_FILE,
        file=PUBLISHED_FILE,
        content_hash=tables.published.content_hash,
        task_ids=task_ids,
    )
    outcome = export_all(table, session.config.exports.asked_for, staging / EXPORTS_DIR)
    if outcome.problems:
        session.views.write(EXPORT_REPORT, outcome.report)
    raise_all(StageError, outcome.problems)
    return outcome
