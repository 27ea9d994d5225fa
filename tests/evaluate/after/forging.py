"""Edits of finished evaluations, as somebody would make them who wants a better result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.modelio.log_form import LogForm
from bfcl.tables.task_results import TASK_RESULTS_FILE, read_task_results, write_task_results
from tests.evaluate.after.finishing import Data


def edit_json(path: Path, edit: Callable[[Data], None]) -> None:
    data = json.loads(path.read_bytes())
    edit(data)
    path.write_bytes(readable_json(data))


def restate(directory: Path) -> None:
    """Let the manifest vouch for the files as they are now, as a forger would."""

    def edit(manifest: Data) -> None:
        for entry in manifest["artifacts"].values():
            entry["content_hash"] = sha256_file(directory / entry["file"])

    edit_json(directory / "eval_manifest.json", edit)


def succeed(directory: Path) -> None:
    """Let every task of the one candidate have succeeded, in report, table and manifest alike."""
    path = directory / TASK_RESULTS_FILE
    rows = read_task_results(path)
    for row in rows:
        row["task_success"] = True
    write_task_results(path, rows)
    edit_json(directory / "eval_report.json", lambda report: report["candidates"][0].update(successful_tasks=len(rows)))
    restate(directory)


def forge(path: Path, form: LogForm, edit: Callable[[Data], bool]) -> None:
    """Edit payloads of a log and sign each record anew; `edit` says whether it has changed one."""
    lines, changed = [], 0
    for line in path.read_bytes().splitlines(keepends=True):
        record = form.record(line)
        payload: Any = record.payload
        if edit(payload):
            changed += 1
            line = form.line(record)
        lines.append(line)
    assert changed
    path.write_bytes(b"".join(lines))
